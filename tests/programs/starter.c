/* SPDX-License-Identifier: MIT */
/* starter.c -- starts argv[2]... in the way argv[1]: spawn, spawnp, vfork, fork, become, thread
 * (which becomes it), or fail (whose exec does not work, and which goes on). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void *become(void *argv)
{
	execv(*(char **)argv, argv);
	_exit(97);
}

/* More words than a program may have. */
static int fail(char **argv)
{
	size_t count = 1 << 22;
	char **many = malloc((count + 1) * sizeof *many);

	for (size_t i = 0; i < count; i++)
		many[i] = argv[0];
	many[count] = NULL;
	if (execv(argv[0], many) == 0 || errno != E2BIG)
		return 96;
	free(many);
	puts("goes on");
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	pthread_t thread;
	pid_t pid = -1;

	argv += 2;
	if (strcmp(how, "spawn") == 0 && posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0)
		return wait_for(pid);
	if (strcmp(how, "spawnp") == 0 && posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
		return wait_for(pid);
	if (strcmp(how, "fail") == 0)
		return fail(argv);
	if (strcmp(how, "become") == 0)
		become(argv);
	if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, become, argv) == 0)
		pthread_join(thread, NULL);
	if (strcmp(how, "fork") == 0 || strcmp(how, "vfork") == 0) {
		pid = *how == 'v' ? vfork() : fork();
		if (pid == 0)
			become(argv);
		return wait_for(pid);
	}
	return 95;
}
