/* SPDX-License-Identifier: MIT */
/*
 * test_signals.c -- signals by name and number, and those that cannot ask for a snapshot.
 */
#include <signal.h>

#include "base/signals.h"
#include "tap.h"

static void means(const char *text, int number)
{
        struct err e = { 0 };
        uint32_t got = 99;

        is_true(signals_parse(text, &got, &e));
        is_equal(got, number);
        is_text(e.text, "");
}

static void is_refused(const char *text, const char *why)
{
        struct err e = { 0 };
        uint32_t got = 99;

        is_true(!signals_parse(text, &got, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, why);
        has_text(e.text, text);
}

TEST(a_name_may_have_sig_in_front_and_any_case)
{
        means("USR1", SIGUSR1);
        means("SIGUSR1", SIGUSR1);
        means("sigusr2", SIGUSR2);
        means("Hup", SIGHUP);
        means("io", SIGIO);
        means("POLL", SIGPOLL);
}

TEST(real_time_signals_count_from_both_ends)
{
        means("RTMIN", SIGRTMIN);
        means("RTMIN+3", SIGRTMIN + 3);
        means("SIGRTMIN+3", SIGRTMIN + 3);
        means("rtmax", SIGRTMAX);
        means("RTMAX-2", SIGRTMAX - 2);
        is_refused("RTMIN-1", "unknown signal");
        is_refused("RTMAX+1", "unknown signal");
        is_refused("RTMIN+99999999999999999999", "unknown signal");
        is_refused("RTMIN+", "unknown signal");
        is_refused("RTMIN+3x", "unknown signal");
        is_refused("RTMIN+ 3", "unknown signal");
}

TEST(numbers_are_signals_when_the_kernel_has_them)
{
        means("10", SIGUSR1);
        means("64", 64);
        is_refused("0", "unknown signal");
        is_refused("65", "unknown signal");
        is_refused("-10", "unknown signal");
        is_refused("10x", "unknown signal");
        is_refused("99999999999999999999", "unknown signal");
}

TEST(none_is_no_signal)
{
        means("none", 0);
        means("NONE", 0);
}

TEST(signals_with_another_meaning_are_refused_with_the_reason)
{
        is_refused("KILL", "cannot be caught");
        is_refused("SIGSTOP", "cannot be caught");
        is_refused("9", "cannot be caught");
        is_refused("SEGV", "fault");
        is_refused("11", "fault");
        is_refused("CHLD", "child");
        is_refused("", "unknown signal");
        is_refused("SIG", "unknown signal");
        is_refused("nonsense", "unknown signal");
}

TEST(a_number_has_a_name)
{
        char text[SIGNALS_NAME_BYTES];

        signals_name(SIGUSR1, text);
        is_text(text, "SIGUSR1");
        signals_name((uint32_t)SIGRTMIN + 3, text);
        is_text(text, "SIGRTMIN+3");
        signals_name(4000000000u, text);
        is_text(text, "signal 4000000000");
}

TAP_MAIN(a_name_may_have_sig_in_front_and_any_case, real_time_signals_count_from_both_ends,
         numbers_are_signals_when_the_kernel_has_them, none_is_no_signal,
         signals_with_another_meaning_are_refused_with_the_reason, a_number_has_a_name)
