# Bankfold in a container: docker build -t bankfold . && docker run --rm -v "$PWD:/work" bankfold check kernel.trace
FROM debian:bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev meson ninja-build pkg-config libzstd-dev \
    libpng-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN meson setup /build /source --prefix=/usr && ninja -C /build && DESTDIR=/installed meson install -C /build --quiet

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libzstd1 libpng16-16 && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed /
WORKDIR /work
ENTRYPOINT ["bankfold"]
