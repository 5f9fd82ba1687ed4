/* Whether sanitizers watch. Everything takes several times as long then, and tests that try many
 * random cases try fewer. */
#ifndef TEST_SANITIZED_H
#define TEST_SANITIZED_H

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if !defined IS_SANITIZED && defined __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#elif !defined IS_SANITIZED
#define IS_SANITIZED 0
#endif

#endif
