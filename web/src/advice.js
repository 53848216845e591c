// SPDX-License-Identifier: MIT
// advice.js -- what to do about memory that is freed as soon as it was allocated.
//
// Judged by the names at the inner end of the stack, from the allocation out to the first own function, and by the size.

// Of each name, from the innermost on, the first entry that fits counts.
const ADVICE = [
  {
    id: 'string',
    names: /basic_string|\bstd::string\b|QString|alloc::string::|std::to_string|stringstream|StringBuilder/,
    what: 'a string that is made and thrown away',
    todo: 'Take it as const reference or std::string_view; build it in one string that is kept outside of the loop; avoid substr() and + where a view is enough.',
  },
  {
    id: 'copy',
    names: /strn?dup|asprintf|g_strdup|g_strconcat|xstrdup/,
    what: 'a copy of a text',
    todo: 'Use the original where it lives long enough, or a buffer on the stack with snprintf().',
  },
  {
    id: 'map',
    names: /_Rb_tree|_Hashtable|std::map|std::set|unordered_|QHash|QMap|hash_map|g_hash_table/,
    what: 'a node of a map or set',
    todo: 'Look up before inserting (find, or try_emplace instead of emplace), and do not copy whole maps.',
  },
  {
    id: 'list',
    names: /_List_base|std::list|std::deque|_Deque_base|_Fwd_list|g_s?list_/,
    what: 'a node of a list or a queue',
    todo: 'Keep used nodes (splice), or use a container that stores its elements together.',
  },
  {
    id: 'vector',
    names: /std::vector|_Vector_base|_M_realloc|alloc::vec::|alloc::raw_vec|QVector|QList|QByteArray|g_array|g_ptr_array/,
    what: 'an array that grows or lives for one call',
    todo: 'reserve() what is needed at once; keep one outside of the loop and clear() it.',
  },
  {
    id: 'function',
    names: /std::function|_Function_base|std::bind|boost::function/,
    what: 'a function object with what it captured',
    todo: 'Capture less (by reference), or take the function as a template parameter.',
  },
  {
    id: 'shared',
    names: /shared_ptr|make_shared|_Sp_counted|alloc::sync::Arc|alloc::rc::Rc/,
    what: 'a shared object that lives for one call',
    todo: 'Make it a local variable, or pass a reference to it instead.',
  },
  {
    id: 'file',
    names: /\b(fopen|_IO_file_doallocate|opendir|getline|getdelim|regcomp|qsort|getaddrinfo)\b/,
    what: 'a buffer of the C library',
    todo: 'Open, compile or look up once, and use the result again.',
  },
];

const SMALL = 1024;
const KIND_ADVICE = {
  realloc: { id: 'grow', what: 'a block that grows step by step', todo: 'Ask for the final size at once, or double it each time.' },
};
const FALLBACK = {
  small: { id: 'small', what: 'a small block', todo: 'A variable on the stack would do, or one block that is used again.' },
  large: { id: 'large', what: 'a large block', todo: 'Allocate the buffer once, outside of the loop, and use it again.' },
};

/** "std::vector::push_back" of "std::vector<std::string>::push_back": what a container holds does not matter. */
function withoutArguments(name) {
  let before;
  do [before, name] = [name, name.replace(/<[^<>]*>/g, '')];
  while (name !== before);
  return name;
}

/** names: of the functions at the inner end, innermost first; kind: "malloc" ...; average: bytes of one block. */
export function advice(names, kind, average) {
  for (const name of names.map(withoutArguments)) {
    const named = ADVICE.find((entry) => entry.names.test(name));
    if (named) return { id: named.id, what: named.what, todo: named.todo };
  }
  return KIND_ADVICE[kind] ?? (average <= SMALL ? FALLBACK.small : FALLBACK.large);
}

/** The names that advice() wants: from the allocation out to the first function that is of no wrapper and no library of the language. */
export function innerNames(recording, site) {
  const frames = recording.framesOf(recording.sites.node[site]),
    { wrapper, library } = recording.frames;
  const own = frames.findIndex((frame) => !wrapper[frame] && !library[frame]);
  return frames.slice(0, own < 0 ? undefined : own + 1).map((frame) => recording.functionName(frame));
}
