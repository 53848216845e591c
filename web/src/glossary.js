// SPDX-License-Identifier: MIT
// glossary.js -- the words of Help and of all tooltips, in the user's words; docs/GLOSSARY.md has them all.
import { h, withTip } from './dom.js';

export const WORDS = {
  allocation:
    'One successful call that returns memory: malloc, calloc, new and their relatives. A realloc of a block counts as one free and one allocation.',
  block: 'What one allocation returned, until it is freed. Its size is what the program asked for; the allocator may take a little more.',
  'definitely lost': 'No chain of pointers leads to the block from anywhere: it can never be freed. The one class that is an error for sure.',
  frame: 'One function in a stack. Functions that the compiler inlined are frames too.',
  grows:
    'The least that was live in each part of the run goes up again and again. Bounded: it goes on allocating, and gives back. Once: all of it came within a short time.',
  heap: 'All live blocks together. Memory that the program mapped itself is counted separately.',
  'indirectly lost': 'Only lost blocks point to it. Fix the leak of the definitely lost block that leads to it, and it goes away too.',
  lifetime: 'The time between allocation and free; averages are over the blocks that were freed.',
  live: 'Allocated and not freed yet. At the end of the program: not freed.',
  mismatched: 'Freed by the wrong function: free for new, or delete for new[].',
  module: 'The program itself or a library.',
  peak: 'The moment with the most live bytes. What a stack has "at the peak" is its part of that moment, so the parts add up; it may have held more at another time.',
  'possibly lost': 'Reached only by pointers to the inside of the block. Often intended by a library, sometimes a leak.',
  reachable: 'Not freed, but pointers lead to it: caches, tables, pools. Not an error, however the program ends.',
  retained: 'What would be freed if a variable or a block went away: everything reachable only through it.',
  RSS: 'What the kernel says the process occupies. It is more than the heap: programs and libraries, stacks, mapped files, and memory that the allocator keeps for later.',
  sampled: 'Only some allocations were recorded, and numbers are scaled up: good for large sums, not for small ones.',
  site: 'A call stack together with the function that gave the memory. What costs are counted for.',
  snapshot: 'A numbered moment whose state is kept, taken by a signal, a command, the program, the clock or a limit.',
  stack: 'The chain of calls that led to an allocation, innermost first.',
  tag: 'A moment that the program itself named, with SEEP_TAG.',
  temporary:
    'An allocation that its thread freed again as its very next event: a string or vector made to be thrown away. It costs time, not memory.',
  'allocated in total':
    'All bytes ever allocated, mostly freed again. It can be far more than the machine has; much of it with a small peak means churn, not use.',
  wrapper:
    'A function that only hands memory on, such as xmalloc or std::allocator. Hidden at the inner end of stacks, so that your own function stands first.',
};

/** TEXT (default: the word itself) with the word's meaning as a tooltip, on hover and on focus. */
export function term(word, text = word) {
  return withTip(h('span', { class: 'term', tabindex: '0' }, text), () => [h('strong', null, word), `: ${WORDS[word] ?? ''}`]);
}
