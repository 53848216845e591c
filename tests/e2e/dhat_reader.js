// SPDX-License-Identifier: MIT
// dhat_reader.js -- Valgrind's own reader of DHAT files, without a browser.  usage: node
// dhat_reader.js dh_view.js FILE Prints what it found: totals of the root, its leaves with their
// frames.
const fs = require('fs');
const vm = require('vm');

const [viewer, file] = process.argv.slice(2);
const context = vm.createContext({
  console,
  window: {},
  document: {},
  text: fs.readFileSync(file, 'utf8'),
});
vm.runInContext(fs.readFileSync(viewer, 'utf8'), context);
vm.runInContext(
  `
  gSelect = { selectedIndex: 0, childNodes: gSelectData.map(() => ({})) };
  gData = JSON.parse(text);
  buildTree();
`,
  context,
);
const found = vm.runInContext(
  `
  const leaves = [];
  const visit = (node, outer) => {
    const frames = outer.concat(node._frames.map(f => gData.ftbl[f]));
    if (node._kids) node._kids.forEach(kid => visit(kid, frames));
    else
      leaves.push({ frames, tb: node._totalBytes, tbk: node._totalBlocks, mb: node._maxBytes,
                    lifetimes: node._totalLifetimes });
  };
  visit(gRoot, []);
  ({ tb: gRoot._totalBytes, tbk: gRoot._totalBlocks, gb: gRoot._atTGmaxBytes,
     gbk: gRoot._atTGmaxBlocks, eb: gRoot._atTEndBytes, ebk: gRoot._atTEndBlocks,
     lifetimes: gRoot._totalLifetimes, leaves });
`,
  context,
);
console.log(JSON.stringify(found));
