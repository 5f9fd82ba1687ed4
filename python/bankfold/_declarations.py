"""The public header for ctypes. Written by python/declarations.py; not to be changed by hand."""
# pylint: skip-file
from ctypes import *  # noqa: F403
from typing import Any, Dict, List, Tuple

BF_VERSION_MAJOR = 0
BF_VERSION_MINOR = 1
BF_VERSION_PATCH = 0
BF_MAX_LANES = 64
BF_MAX_BINS = 65536
BF_VERSION_NUMBER = 100

BF_OK = 0
BF_BAD_INPUT = -1
BF_NO_MEMORY = -2
BF_IO = -3
BF_UNSUPPORTED = -4
BF_FAULT = -5
BF_STOPPED = -6

BF_LOG_REMARK = 0
BF_LOG_WARNING = 1

BF_OP_LD = 0
BF_OP_ST = 1
BF_OP_ATOM = 2
BF_OP_RED = 3
BF_OP_FATOM = 4
BF_OP_CAS = 5
BF_OP_MAX = 6
BF_OP_EXCH = 7
BF_OP_INC = 8
BF_OP_ADD64 = 9
BF_OP_REDV = 10
BF_OP_REDMAX = 11
BF_OP_F16X2 = 12
BF_OP_F64 = 13
BF_OP_REDF = 14
BF_OP_LDMATRIX1 = 15
BF_OP_LDMATRIX2 = 16
BF_OP_LDMATRIX4 = 17
BF_OP_LDMATRIXT4 = 18
BF_OP_STMATRIX4 = 19
BF_OP_CP4 = 20
BF_OP_CP8 = 21
BF_OP_CP16 = 22
BF_OP_EXCH64 = 23
BF_OP_CAS64 = 24
BF_OP_COUNT = 25

BF_TRACE_OWN = 0
BF_TRACE_NVBIT = 1
BF_TRACE_ACCELSIM = 2

BF_DRAWING_TEXT = 0
BF_DRAWING_SVG = 1
BF_DRAWING_JSON = 2

BF_METHOD_EXACT = 0
BF_METHOD_BIT_VECTOR = 1
BF_METHOD_GIVARGIS = 2
BF_METHOD_MIN_IMBALANCE = 3
BF_METHOD_PADDING = 4
BF_METHOD_GIVARGIS_LITERAL = 5
BF_METHOD_MODULO = 6

BF_CLASS_GENERAL = 0
BF_CLASS_ROW = 1
BF_CLASS_CUTE = 2
BF_CLASS_ONE_TERM = 3
BF_CLASS_TWO_TERM = 4
BF_CLASS_TMA = 5

BF_PIXEL_U8 = 0
BF_PIXEL_U16 = 1
BF_PIXEL_F32 = 2

BF_WEIGHT_F32 = 0
BF_WEIGHT_F64 = 1

BF_HOUGH_POLAR = 0
BF_HOUGH_CARTESIAN = 1

bf_progress = CFUNCTYPE(c_bool, c_void_p, c_double, c_uint64, c_uint64)


class bf_diagnostic(Structure):
    _fields_ = [
        ("file", c_char * 256),
        ("line", c_uint64),
        ("column", c_uint32),
        ("caret", c_int32),
        ("message", c_char * 512),
        ("excerpt", c_char * 128),
    ]


class bf_logger(Structure):
    _fields_ = [
        ("say", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
        ("context", c_void_p),
    ]


class bf_geometry(Structure):
    _fields_ = [
        ("bank_bits", c_uint),
        ("address_bits", c_uint),
        ("word_bytes", c_uint),
    ]


class bf_overrides(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("banks", c_uint),
        ("word_bytes", c_uint),
        ("lanes", c_uint),
        ("address_bits", c_uint),
    ]


class bf_hash_cost(Structure):
    _fields_ = [
        ("xor_inputs", c_uint),
        ("instructions", c_uint),
        ("gate_depth", c_uint),
        ("gates", c_uint),
    ]


class bf_access(Structure):
    _fields_ = [
        ("op", c_int),
        ("width_bytes", c_uint),
        ("mask", c_uint64),
        ("count", c_uint64),
        ("line", c_uint64),
        ("site", c_char_p),
        ("address", c_uint32 * 64),
    ]


class bf_trace_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("name", c_char_p),
        ("form", c_int),
        ("logger", bf_logger),
    ]


class bf_count(Structure):
    _fields_ = [
        ("wavefronts_load", c_uint32),
        ("wavefronts_store", c_uint32),
        ("wavefronts_atomic", c_uint32),
        ("lock_iterations", c_uint32),
        ("ideal", c_uint32),
        ("conflicts", c_uint32),
        ("latency_cycles", c_uint32),
        ("estimated", c_bool),
    ]


class bf_workload_totals(Structure):
    _fields_ = [
        ("accesses", c_uint64),
        ("wavefronts_load", c_uint64),
        ("wavefronts_store", c_uint64),
        ("wavefronts_atomic", c_uint64),
        ("wavefronts", c_uint64),
        ("ideal", c_uint64),
        ("conflicts", c_uint64),
        ("estimated", c_bool),
    ]


class bf_classify_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("columns", c_uint64),
        ("block_x", c_uint),
    ]


class bf_classification(Structure):
    _fields_ = [
        ("pattern", c_char_p),
        ("width_x", c_uint),
        ("height_y", c_uint),
        ("stride_x", c_int64),
        ("stride_y", c_int64),
        ("offset", c_int64),
        ("columns", c_int64),
        ("matrix", c_int64 * 2 * 2),
        ("origin", c_int64 * 2),
        ("explanation", c_char * 512),
    ]


class bf_drawing_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("form", c_int),
        ("color", c_bool),
        ("width_columns", c_uint),
        ("most_rows", c_uint),
        ("all_rows", c_bool),
    ]


class bf_solve_case(Structure):
    _fields_ = [
        ("machine", c_void_p),
        ("workload", c_void_p),
    ]


class bf_solve_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("method", c_int),
        ("class_", c_int),
        ("keeps_rows", c_bool),
        ("pairs", c_bool),
        ("all_candidates", c_bool),
        ("granule_bytes", c_uint),
        ("time_limit_seconds", c_double),
        ("threads", c_uint),
        ("progress", bf_progress),
        ("progress_context", c_void_p),
        ("logger", bf_logger),
        ("also", POINTER(bf_solve_case)),
        ("also_count", c_size_t),
        ("has_most_gates", c_bool),
        ("most_gates", c_uint),
        ("front", c_bool),
        ("instruction_wavefronts", c_double),
        ("shared_file", c_char_p),
    ]


class bf_solution(Structure):
    _fields_ = [
        ("hash", c_void_p),
        ("conflicts_before", c_uint64),
        ("conflicts_after", c_uint64),
        ("lower_bound", c_uint64),
        ("proven", c_bool),
        ("bytes_wasted", c_uint64),
        ("candidates_tested", c_uint64),
        ("candidates_total", c_uint64),
        ("chosen_count", c_uint),
        ("chosen", c_uint64 * 16),
        ("cost", bf_hash_cost),
        ("seconds", c_double),
    ]


class bf_joint(Structure):
    _fields_ = [
        ("solution", bf_solution),
        ("row_words", c_uint64),
        ("pad_words", c_uint64),
        ("base_bytes", c_uint64),
        ("tried", c_uint),
        ("all", c_uint),
    ]


class bf_array_solution(Structure):
    _fields_ = [
        ("begin_bytes", c_uint64),
        ("accesses", c_uint64),
        ("solution", bf_solution),
    ]


class bf_ladder_step(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("hash", c_char * 2048),
        ("conflicts", c_uint64),
        ("bytes_wasted", c_uint64),
        ("instructions", c_uint),
        ("gates", c_uint),
        ("gate_delays", c_uint),
        ("proven", c_bool),
    ]


class bf_emit_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("name", c_char_p),
        ("testbench", c_bool),
        ("element_bytes", c_uint64),
        ("columns", c_uint64),
    ]


class bf_layout_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("tile", c_char_p),
        ("type", c_char_p),
        ("write", POINTER(c_void_p)),
        ("writes", c_uint),
        ("read", POINTER(c_void_p)),
        ("reads", c_uint),
        ("layout", c_char_p),
    ]


class bf_layout_choice(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("tma_mode", c_char_p),
        ("wavefronts", c_uint64),
        ("ideal", c_uint64),
        ("conflicts", c_uint64),
        ("bytes", c_uint64),
        ("panel_stride_bytes", c_uint64),
        ("alignment_bytes", c_uint),
        ("panel_bytes", c_uint),
        ("pitch_bytes", c_uint),
        ("swizzle_bits", c_uint),
        ("swizzle_base", c_uint),
        ("swizzle_shift", c_int),
        ("estimated", c_bool),
    ]


class bf_layout_access(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("is_write", c_bool),
        ("estimated", c_bool),
        ("has_descriptor", c_bool),
        ("leading_bytes", c_uint),
        ("stride_bytes", c_uint),
        ("layout_type", c_uint),
        ("descriptor", c_uint64),
        ("weight", c_uint64),
        ("wavefronts", c_uint64),
        ("ideal", c_uint64),
    ]


class bf_align_pattern(Structure):
    _fields_ = [
        ("stride", c_uint64),
        ("count", c_uint64),
        ("distance", c_uint64),
        ("patterns", c_uint64),
        ("also_transposed", c_bool),
    ]


class bf_align_range(Structure):
    _fields_ = [
        ("from", c_uint64),
        ("to", c_uint64),
    ]


class bf_alignment(Structure):
    _fields_ = [
        ("optimal", POINTER(bf_align_range)),
        ("optimal_count", c_size_t),
        ("conflicts", c_uint64),
        ("worst", c_uint64),
        ("symmetry_points", POINTER(c_double)),
        ("symmetry_count", c_size_t),
        ("bases", c_uint64),
        ("evaluated", c_uint64),
    ]


class bf_binary_image(Structure):
    _fields_ = [
        ("module", c_uint),
        ("kind", c_char_p),
        ("architecture", c_char_p),
        ("source", c_char_p),
        ("bytes", c_uint64),
    ]


class bf_kernel_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("readable_name", c_char_p),
        ("line", c_uint64),
        ("has_lines", c_bool),
        ("shared_bytes", c_uint64),
        ("has_dynamic_shared", c_bool),
        ("block", c_uint32 * 3),
        ("parameters", c_uint),
        ("parameter_bytes", c_uint64),
        ("instructions", c_uint32),
        ("shared_accesses", c_uint32),
    ]


class bf_parameter_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("offset_bytes", c_uint64),
        ("bytes", c_uint64),
        ("is_array", c_bool),
    ]


class bf_argument(Structure):
    _fields_ = [
        ("in", c_void_p),
        ("out", c_void_p),
        ("bytes", c_size_t),
        ("is_buffer", c_bool),
    ]


class bf_analyze_kernel_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("block", c_uint32 * 3),
        ("grid", c_uint32 * 3),
        ("argument", POINTER(bf_argument)),
        ("arguments", c_size_t),
        ("has_block_index", c_bool),
        ("block_index", c_uint32 * 3),
    ]


class bf_unknown(Structure):
    _fields_ = [
        ("what", c_char_p),
        ("because", c_char_p),
    ]


class bf_kernel_site(Structure):
    _fields_ = [
        ("line", c_uint64),
        ("source_file", c_char_p),
        ("source_line", c_uint64),
        ("instruction", c_char_p),
        ("has_op", c_bool),
        ("op", c_int),
        ("width_bytes", c_uint),
        ("is_reached", c_bool),
        ("is_exact", c_bool),
        ("formula", c_char_p),
        ("is_affine", c_bool),
        ("step_bytes", c_int64 * 3),
        ("unknowns", c_uint),
        ("unknown", POINTER(bf_unknown)),
        ("fault", c_char_p),
        ("accesses", c_uint64),
        ("wavefronts", c_uint64),
        ("most_wavefronts", c_uint64),
        ("ideal", c_uint64),
        ("conflicts", c_uint64),
        ("most_conflicts", c_uint64),
        ("estimated", c_bool),
        ("worst", POINTER(bf_access)),
        ("explanation", c_char_p),
    ]


class bf_launch(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("dynamic_shared_bytes", c_uint64),
        ("argument", POINTER(bf_argument)),
        ("arguments", c_size_t),
        ("hash", c_void_p),
        ("as_written", c_bool),
        ("check_uninitialised", c_bool),
        ("check_races", c_bool),
        ("threads", c_uint),
        ("print", CFUNCTYPE(None, c_void_p, c_char_p, c_size_t)),
        ("print_context", c_void_p),
        ("progress", CFUNCTYPE(c_bool, c_void_p, c_uint64, c_uint64)),
        ("progress_context", c_void_p),
        ("logger", bf_logger),
    ]


class bf_profile_line(Structure):
    _fields_ = [
        ("file", c_char_p),
        ("line", c_uint64),
        ("accesses", c_uint64),
        ("wavefronts", c_uint64),
        ("ideal", c_uint64),
        ("conflicts", c_uint64),
        ("worst_wavefronts", c_uint64),
        ("worst", bf_access),
        ("estimated", c_bool),
        ("uncounted", c_uint64),
    ]


class bf_profile_totals(Structure):
    _fields_ = [
        ("accesses", c_uint64),
        ("wavefronts", c_uint64),
        ("ideal", c_uint64),
        ("conflicts", c_uint64),
        ("warp_instructions", c_uint64),
        ("thread_instructions", c_uint64),
    ]


class bf_simulate_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("gpu", c_char_p),
        ("set", c_char_p),
        ("most_cycles", c_uint64),
    ]


class bf_simulation_totals(Structure):
    _fields_ = [
        ("cycles", c_uint64),
        ("seconds", c_double),
        ("instructions", c_uint64),
        ("blocks", c_uint64),
        ("sms", c_uint),
        ("blocks_per_sm", c_uint),
        ("occupancy_limit", c_char_p),
        ("occupancy", c_double),
        ("instructions_per_cycle", c_double),
        ("turns", c_uint64),
        ("shared_accesses", c_uint64),
        ("shared_wavefronts", c_uint64),
        ("shared_conflicts", c_uint64),
        ("global_accesses", c_uint64),
        ("global_sectors", c_uint64),
        ("dram_read_bytes", c_uint64),
        ("dram_written_bytes", c_uint64),
    ]


class bf_simulation_stall(Structure):
    _fields_ = [
        ("reason", c_char_p),
        ("turns", c_uint64),
    ]


class bf_simulation_line(Structure):
    _fields_ = [
        ("file", c_char_p),
        ("line", c_uint64),
        ("accesses", c_uint64),
        ("wavefronts", c_uint64),
        ("conflicts", c_uint64),
        ("waited_cycles", c_uint64),
    ]


class bf_rewrite_module_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("hash", c_char_p),
        ("hashes", c_char_p),
        ("name", c_char_p),
        ("kernel", c_char_p),
        ("padding_has_room", c_bool),
        ("predict", c_bool),
        ("block", c_uint32 * 3),
    ]


class bf_rewritten_kernel(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("is_rewritten", c_bool),
        ("hash", c_char_p),
        ("reason", c_char_p),
        ("accesses", c_uint32),
        ("hashed", c_uint32),
        ("added_instructions", c_uint32),
        ("shared_bytes", c_uint64),
        ("padded_shared_bytes", c_uint64),
        ("share_left", c_double),
    ]


class bf_tune_launch(Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("launch", POINTER(bf_launch)),
    ]


class bf_tune_module_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("machine", c_void_p),
        ("gpu", c_char_p),
        ("kernel", c_char_p),
        ("time_limit_seconds", c_double),
        ("threads", c_uint),
        ("launch_threads", c_uint),
        ("logger", bf_logger),
    ]


class bf_kernel_cost(Structure):
    _fields_ = [
        ("wavefronts", c_uint64),
        ("warp_instructions", c_uint64),
        ("cycles", c_uint64),
    ]


class bf_tuned_kernel(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("hash", c_char_p),
        ("reason", c_char_p),
        ("launches", c_uint64),
        ("before", bf_kernel_cost),
        ("after", bf_kernel_cost),
    ]


class bf_propose_hashes_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("merged", c_void_p),
        ("granule_bytes", c_uint),
        ("time_limit_seconds", c_double),
        ("threads", c_uint),
        ("progress", bf_progress),
        ("progress_context", c_void_p),
    ]


class bf_proposed_hash(Structure):
    _fields_ = [
        ("hash", c_char_p),
        ("granule_bytes", c_uint),
        ("is_proven", c_bool),
        ("is_worth", c_bool),
        ("wavefronts_before", c_uint64),
        ("wavefronts_after", c_uint64),
        ("added_instructions", c_int64),
    ]


class bf_pixels(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("channels", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
        ("stride_bytes", c_size_t),
        ("mask", POINTER(c_uint8)),
        ("mask_stride_bytes", c_size_t),
    ]


class bf_histogram_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("bins", c_size_t),
        ("low", c_double),
        ("high", c_double),
        ("edges", POINTER(c_double)),
        ("channel", c_uint),
        ("threads", c_uint),
        ("accumulate", c_bool),
        ("weights", c_void_p),
        ("weight_type", c_int),
        ("weights_stride_bytes", c_size_t),
    ]


class bf_hough_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("form", c_int),
        ("theta_low", c_double),
        ("theta_high", c_double),
        ("theta_step", c_double),
        ("rho_step", c_double),
        ("weighted", c_bool),
        ("threads", c_uint),
    ]


class bf_hough_space(Structure):
    _fields_ = [
        ("form", c_int),
        ("angles", c_size_t),
        ("rhos", c_size_t),
        ("rho_zero", c_size_t),
        ("theta_low", c_double),
        ("theta_step", c_double),
        ("rho_step", c_double),
        ("points", c_uint64),
        ("votes", POINTER(c_uint32)),
    ]


class bf_peak(Structure):
    _fields_ = [
        ("theta", c_double),
        ("rho", c_double),
        ("x_factor", c_double),
        ("y_factor", c_double),
        ("votes", c_uint32),
        ("angle", c_size_t),
        ("bin", c_size_t),
    ]


class bf_peaks(Structure):
    _fields_ = [
        ("peak", POINTER(bf_peak)),
        ("count", c_size_t),
    ]


class bf_peak_options(Structure):
    _fields_ = [
        ("struct_bytes", c_size_t),
        ("min_votes", c_uint32),
        ("theta_radius", c_uint),
        ("rho_radius", c_uint),
        ("max_lines", c_size_t),
    ]


class bf_hough_result(Structure):
    _fields_ = [
        ("edges", POINTER(c_uint8)),
        ("width", c_size_t),
        ("height", c_size_t),
        ("threshold", c_uint),
        ("space", bf_hough_space),
        ("lines", bf_peaks),
    ]


# Of each function what it returns, and what it takes.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "bf_version": (c_char_p, []),
    "bf_version_number": (c_int, []),
    "bf_error_name": (c_char_p, [c_int]),
    "bf_free": (None, [c_void_p]),
    "bf_machine_load": (c_int, [c_char_p, POINTER(bf_overrides), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_machine_parse": (c_int, [c_char_p, c_char_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_machine_free": (None, [c_void_p]),
    "bf_machine_name": (c_char_p, [c_void_p]),
    "bf_machine_title": (c_char_p, [c_void_p]),
    "bf_machine_geometry": (bf_geometry, [c_void_p]),
    "bf_machine_lanes": (c_uint, [c_void_p]),
    "bf_machine_capacity_bytes": (c_uint64, [c_void_p]),
    "bf_machine_builtin": (c_char_p, [c_uint]),
    "bf_hash_parse": (c_int, [c_char_p, POINTER(bf_geometry), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_hash_from_rows": (c_int, [POINTER(c_uint64), POINTER(bf_geometry), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_hash_free": (None, [c_void_p]),
    "bf_hash_text": (c_char_p, [c_void_p]),
    "bf_hash_bank": (c_uint32, [c_void_p, c_uint64]),
    "bf_hash_place": (c_uint64, [c_void_p, c_uint64]),
    "bf_hash_unplace": (c_int, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "bf_hash_get_cost": (bf_hash_cost, [c_void_p]),
    "bf_op_name": (c_char_p, [c_int]),
    "bf_op_find": (c_int, [c_char_p]),
    "bf_workload_create": (c_int, [POINTER(c_void_p)]),
    "bf_workload_free": (None, [c_void_p]),
    "bf_workload_add": (c_int, [c_void_p, POINTER(bf_access)]),
    "bf_workload_read": (c_int, [c_char_p, c_void_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_workload_read_form": (c_int, [c_char_p, c_int, c_void_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_workload_parse": (c_int, [c_void_p, c_size_t, c_void_p, POINTER(bf_trace_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_trace_read": (c_int, [c_char_p, c_void_p, POINTER(bf_trace_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_trace_step": (c_int, [c_void_p, POINTER(POINTER(bf_access)), POINTER(bf_diagnostic)]),
    "bf_trace_close": (None, [c_void_p]),
    "bf_trace_writer_open": (c_int, [c_char_p, c_bool, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_trace_writer_add": (c_int, [c_void_p, POINTER(bf_access), POINTER(bf_diagnostic)]),
    "bf_trace_writer_commit": (c_int, [c_void_p, POINTER(bf_diagnostic)]),
    "bf_trace_writer_close": (None, [c_void_p]),
    "bf_workload_size": (c_size_t, [c_void_p]),
    "bf_workload_get": (POINTER(bf_access), [c_void_p, c_size_t]),
    "bf_memory_count": (c_int, [c_void_p, c_void_p, POINTER(bf_access), POINTER(bf_count), POINTER(bf_diagnostic)]),
    "bf_counter_create": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_counter_free": (None, [c_void_p]),
    "bf_counter_count": (c_int, [c_void_p, POINTER(bf_access), POINTER(bf_count), POINTER(bf_diagnostic)]),
    "bf_memory_count_workload": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(bf_workload_totals), POINTER(bf_diagnostic)]),
    "bf_access_get_class": (c_int, [c_void_p, POINTER(bf_access), POINTER(bf_classify_options), POINTER(bf_classification), POINTER(bf_diagnostic)]),
    "bf_access_draw": (c_int, [c_void_p, c_void_p, POINTER(bf_access), POINTER(bf_drawing_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_solve": (c_int, [c_void_p, c_void_p, POINTER(bf_solve_options), POINTER(bf_solution), POINTER(bf_diagnostic)]),
    "bf_solution_clear": (None, [POINTER(bf_solution)]),
    "bf_solve_joint": (c_int, [c_void_p, c_void_p, POINTER(bf_solve_options), POINTER(bf_joint), POINTER(bf_diagnostic)]),
    "bf_joint_clear": (None, [POINTER(bf_joint)]),
    "bf_solve_arrays": (c_int, [c_void_p, c_void_p, POINTER(c_uint64), c_size_t, POINTER(bf_solve_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_arrays_free": (None, [c_void_p]),
    "bf_arrays_get": (POINTER(bf_array_solution), [c_void_p, c_size_t]),
    "bf_ladder_create": (c_int, [c_void_p, c_void_p, POINTER(bf_solve_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_ladder_free": (None, [c_void_p]),
    "bf_ladder_get": (POINTER(bf_ladder_step), [c_void_p, c_size_t]),
    "bf_ladder_recommended": (c_size_t, [c_void_p]),
    "bf_ladder_reason": (c_char_p, [c_void_p]),
    "bf_hash_emit": (c_int, [c_void_p, c_char_p, POINTER(bf_emit_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_emit_form": (c_char_p, [c_uint]),
    "bf_layouts_find": (c_int, [c_void_p, POINTER(bf_layout_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_layouts_free": (None, [c_void_p]),
    "bf_layouts_size": (c_size_t, [c_void_p]),
    "bf_layouts_get": (POINTER(bf_layout_choice), [c_void_p, c_size_t]),
    "bf_layouts_get_access": (c_bool, [c_void_p, c_size_t, c_uint, POINTER(bf_layout_access)]),
    "bf_layouts_get_refused": (c_char_p, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "bf_layouts_place": (c_int, [c_void_p, c_size_t, c_uint, c_uint, POINTER(c_uint32)]),
    "bf_layouts_emit": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_align": (c_int, [c_void_p, POINTER(bf_align_pattern), c_uint64, c_uint64, POINTER(bf_alignment), POINTER(bf_diagnostic)]),
    "bf_alignment_clear": (None, [POINTER(bf_alignment)]),
    "bf_binary_parse": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_binary_free": (None, [c_void_p]),
    "bf_binary_module_count": (c_uint, [c_void_p]),
    "bf_binary_get": (POINTER(bf_binary_image), [c_void_p, c_size_t]),
    "bf_binary_get_module": (c_int, [c_void_p, c_uint, c_char_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_module_parse": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_module_free": (None, [c_void_p]),
    "bf_module_text": (c_int, [c_void_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_module_get": (POINTER(bf_kernel_info), [c_void_p, c_size_t]),
    "bf_module_find": (POINTER(bf_kernel_info), [c_void_p, c_char_p]),
    "bf_module_parameter": (POINTER(bf_parameter_info), [c_void_p, c_char_p, c_size_t]),
    "bf_analyze_kernel": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(bf_analyze_kernel_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_kernel_analysis_free": (None, [c_void_p]),
    "bf_kernel_analysis_get": (POINTER(bf_kernel_site), [c_void_p, c_size_t]),
    "bf_kernel_analysis_note": (c_char_p, [c_void_p, c_size_t]),
    "bf_kernel_analysis_workload": (c_int, [c_void_p, POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_profile_launch": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(bf_launch), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_launch_profile_free": (None, [c_void_p]),
    "bf_launch_profile_totals": (POINTER(bf_profile_totals), [c_void_p]),
    "bf_launch_profile_get": (POINTER(bf_profile_line), [c_void_p, c_size_t]),
    "bf_gpu_builtin": (c_char_p, [c_uint]),
    "bf_simulate_launch": (c_int, [c_void_p, c_char_p, POINTER(bf_launch), POINTER(bf_simulate_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_simulation_free": (None, [c_void_p]),
    "bf_simulation_get_totals": (POINTER(bf_simulation_totals), [c_void_p]),
    "bf_simulation_get_stall": (POINTER(bf_simulation_stall), [c_void_p, c_size_t]),
    "bf_simulation_get_line": (POINTER(bf_simulation_line), [c_void_p, c_size_t]),
    "bf_rewrite_module": (c_int, [c_void_p, POINTER(bf_rewrite_module_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_rewriting_free": (None, [c_void_p]),
    "bf_rewriting_text": (c_char_p, [c_void_p]),
    "bf_rewriting_hashes": (c_char_p, [c_void_p]),
    "bf_rewriting_is_changed": (c_bool, [c_void_p]),
    "bf_rewriting_is_repeated": (c_bool, [c_void_p]),
    "bf_rewriting_get": (POINTER(bf_rewritten_kernel), [c_void_p, c_size_t]),
    "bf_tune_module": (c_int, [c_void_p, POINTER(bf_tune_launch), c_size_t, POINTER(bf_tune_module_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_tuning_free": (None, [c_void_p]),
    "bf_tuning_get": (POINTER(bf_tuned_kernel), [c_void_p, c_size_t]),
    "bf_tuning_rewriting": (c_void_p, [c_void_p]),
    "bf_propose_hashes": (c_int, [c_void_p, c_void_p, POINTER(bf_propose_hashes_options), POINTER(c_void_p), POINTER(bf_diagnostic)]),
    "bf_hash_proposals_free": (None, [c_void_p]),
    "bf_hash_proposals_get": (POINTER(bf_proposed_hash), [c_void_p, c_size_t]),
    "bf_hash_proposals_reason": (c_char_p, [c_void_p]),
    "bf_pixels_crop": (c_int, [POINTER(bf_pixels), c_size_t, c_size_t, c_size_t, c_size_t, POINTER(bf_pixels), POINTER(bf_diagnostic)]),
    "bf_histogram_u32": (c_int, [POINTER(bf_pixels), POINTER(bf_histogram_options), POINTER(c_uint32), POINTER(bf_diagnostic)]),
    "bf_histogram_u64": (c_int, [POINTER(bf_pixels), POINTER(bf_histogram_options), POINTER(c_uint64), POINTER(bf_diagnostic)]),
    "bf_histogram_f64": (c_int, [POINTER(bf_pixels), POINTER(bf_histogram_options), POINTER(c_double), POINTER(bf_diagnostic)]),
    "bf_hough_vote": (c_int, [POINTER(bf_pixels), POINTER(bf_hough_options), POINTER(bf_hough_space), POINTER(bf_diagnostic)]),
    "bf_hough_space_clear": (None, [POINTER(bf_hough_space)]),
    "bf_hough_peaks": (c_int, [POINTER(bf_hough_space), POINTER(bf_peak_options), POINTER(bf_peaks), POINTER(bf_diagnostic)]),
    "bf_peaks_clear": (None, [POINTER(bf_peaks)]),
    "bf_peak_clip": (c_bool, [POINTER(bf_peak), c_size_t, c_size_t, POINTER(c_double)]),
    "bf_sobel": (c_int, [POINTER(bf_pixels), c_uint, c_uint, POINTER(c_uint8), c_size_t, POINTER(bf_diagnostic)]),
    "bf_otsu": (c_size_t, [POINTER(c_uint64), c_size_t]),
    "bf_hough_lines": (c_int, [POINTER(bf_pixels), c_uint, POINTER(bf_hough_options), POINTER(bf_peak_options), POINTER(bf_hough_result), POINTER(bf_diagnostic)]),
    "bf_hough_result_clear": (None, [POINTER(bf_hough_result)]),
}

STRUCTS = [bf_diagnostic, bf_logger, bf_geometry, bf_overrides, bf_hash_cost, bf_access, bf_trace_options, bf_count, bf_workload_totals, bf_classify_options, bf_classification, bf_drawing_options, bf_solve_case, bf_solve_options, bf_solution, bf_joint, bf_array_solution, bf_ladder_step, bf_emit_options, bf_layout_options, bf_layout_choice, bf_layout_access, bf_align_pattern, bf_align_range, bf_alignment, bf_binary_image, bf_kernel_info, bf_parameter_info, bf_argument, bf_analyze_kernel_options, bf_unknown, bf_kernel_site, bf_launch, bf_profile_line, bf_profile_totals, bf_simulate_options, bf_simulation_totals, bf_simulation_stall, bf_simulation_line, bf_rewrite_module_options, bf_rewritten_kernel, bf_tune_launch, bf_tune_module_options, bf_kernel_cost, bf_tuned_kernel, bf_propose_hashes_options, bf_proposed_hash, bf_pixels, bf_histogram_options, bf_hough_options, bf_hough_space, bf_peak, bf_peaks, bf_peak_options, bf_hough_result]
