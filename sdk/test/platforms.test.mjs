// The package and adnet.js on the oldest platforms of platforms.json, in React Native, and on pages
// without encryption. What the sources use is read with the compiler, and since when a platform has
// it from MDN's browser-compat-data: a use of something newer fails unless `guarded` has it. Then
// everything guarded is taken away, one after the other and all at once, and a client must work.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import compat from '@mdn/browser-compat-data' with { type: 'json' };
import { transformSync } from 'esbuild';
import { attempt, take } from './without.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const ts = createRequire(at('../../web/sdk/package.json'))('typescript');
const oldest = JSON.parse(readFileSync(at('../../web/sdk/platforms.json'), 'utf8'));

/** What runs where: sources, and the platforms that run them. */
const parts = {
  client: {
    entries: ['index.ts', 'discord.ts', 'ai-sdk.ts'].map((name) => at(`../../web/sdk/src/${name}`)),
    platforms: ['chrome', 'firefox', 'safari', 'node', 'react native', 'http'],
  },
  server: { entries: [at('../../web/sdk/src/mcp.ts')], platforms: ['node'] },
  page: {
    entries: [at('../../web/sdk/src/react.tsx'), at('../../web/sdk/adnet.ts')],
    platforms: ['chrome', 'firefox', 'safari', 'http'],
  },
};

/** Names that may be missing where they are used, with what happens then. */
const guarded = {
  crypto: 'callKey uses Math.random',
  'Crypto.randomUUID': 'callKey uses getRandomValues',
  'Crypto.getRandomValues': 'callKey uses Math.random',
  'CSSStyleSheet.CSSStyleSheet': 'adnet.js makes a style element',
  'CSSStyleSheet.replaceSync': 'adnet.js makes a style element',
  'ShadowRoot.adoptedStyleSheets': 'adnet.js makes a style element',
  'Element.checkVisibility': 'an element counts as visible',
};

/**
 * What React Native lacks in whole or in part: its URL checks nothing and has no parts, and its
 * signals have no reason.
 */
const notInReactNative = new RegExp(
  `^(${[
    'crypto|performance|navigator|document|structuredClone|queueMicrotask|requestIdleCallback',
    '(Crypto|Performance|Navigator|Document|Intl)\\..*',
    'URL\\.(?!URL$).*',
    'AbortSignal\\.(reason|throwIfAborted|timeout_static|any_static)',
    'TextDecoder|ReadableStream|Response\\.body|IntersectionObserver',
  ].join('|')})$`,
);

/** The entry of browser-compat-data for a member of an owner, or for a global. */
function entryOf(owner, member) {
  const { api, javascript } = compat;
  const { builtins } = javascript;
  if (owner === '')
    return api[member] ?? builtins[member] ?? builtins.globals?.[member] ?? api.Window[member];
  if (owner === 'CSSStyleDeclaration' && compat.css.properties[member])
    return compat.css.properties[member];
  const event = member.replace(/^on(.*)$/, '$1_event');
  return api[owner]?.[member] ?? builtins[owner]?.[member] ?? api[owner]?.[event];
}

const number = (version) => Number.parseFloat(`${version}`.replace(/^≤/, ''));

/** Why a platform lacks what entry describes; empty if it has it. */
function lack(name, entry, platform, secure) {
  if (platform === 'react native') return notInReactNative.test(name) ? platform : '';
  if (platform === 'http') return secure ? 'pages without encryption' : '';
  const support = entry.__compat.support[platform === 'node' ? 'nodejs' : platform];
  if (support === undefined) return ''; // no part of that platform
  const since = [support].flat().find((one) => !one.flags && !one.prefix && !one.version_removed);
  const added = since?.version_added;
  if (typeof added === 'string' && number(added) <= number(oldest[platform])) return '';
  return `${platform} (${added || 'never'})`;
}

/** The interfaces of a type: its own, and those that it extends. */
function owners(checker, type) {
  const found = [];
  const walk = (one) => {
    const name = one.symbol?.name ?? one.aliasSymbol?.name;
    if (name && !found.includes(name)) {
      found.push(name);
      for (const base of one.isClassOrInterface() ? checker.getBaseTypes(one) : []) walk(base);
    }
    for (const part of one.isUnionOrIntersection() ? one.types : []) walk(part);
  };
  if (type !== undefined) walk(checker.getApparentType(checker.getNonNullableType(type)));
  return found;
}

/** What a program uses of the platform: names with the entry and whether they need encryption. */
function uses(entries) {
  const program = ts.createProgram(entries, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    jsx: ts.JsxEmit.ReactJSX,
    strict: true,
    types: [],
    noEmit: true,
  });
  const checker = program.getTypeChecker();
  const found = new Map();
  const note = (node, symbol, receiver) => {
    const all = (symbol?.declarations ?? []).filter((one) =>
      program.isSourceFileDefaultLibrary(one.getSourceFile()),
    );
    const declared = all.find(ts.isVariableDeclaration) ?? all[0];
    if (declared === undefined) return;
    const { parent } = declared;
    const place = node.getSourceFile().fileName.replace(/.*\/web\//, '');
    const secure = ts
      .displayPartsToString(symbol.getDocumentationComment(checker))
      .includes('Available only in secure contexts');
    const add = (name, entry) => found.set(name, { entry, place, secure });
    if (ts.isVariableDeclaration(declared) || ts.isFunctionDeclaration(declared)) {
      add(symbol.name, entryOf('', symbol.name));
      if (ts.isNewExpression(node.parent) && compat.api[symbol.name]?.[symbol.name])
        add(`${symbol.name}.${symbol.name}`, entryOf(symbol.name, symbol.name));
      return;
    }
    if (symbol.name === 'prototype') return;
    if (ts.isTypeLiteralNode(parent) && ts.isVariableDeclaration(parent.parent))
      return add(
        `${parent.parent.name.text}.${symbol.name}_static`,
        entryOf(parent.parent.name.text, `${symbol.name}_static`),
      );
    if (!ts.isInterfaceDeclaration(parent)) return;
    const own = parent.name.text;
    const plain = own.replace(/^Readonly(?=Array)|Constructor$/g, '').replace(/^Uint8/, 'Typed');
    const declaring = checker.getDeclaredTypeOfSymbol(checker.getSymbolAtLocation(parent.name));
    const names = [plain, own, ...owners(checker, receiver), ...owners(checker, declaring)];
    const owner = names.find((one) => entryOf(one, symbol.name) !== undefined);
    add(`${owner ?? own}.${symbol.name}`, owner && entryOf(owner, symbol.name));
  };
  const visit = (node) => {
    if (ts.isPropertyAccessExpression(node))
      note(
        node.name,
        checker.getSymbolAtLocation(node.name),
        checker.getTypeAtLocation(node.expression),
      );
    else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
      const type = checker.getTypeAtLocation(node.parent);
      note(node, type.getProperty((node.propertyName ?? node.name).text), type);
    } else if (
      ts.isIdentifier(node) &&
      ts.isExpression(node) &&
      !ts.isPropertyAccessExpression(node.parent) | (node.parent.expression === node)
    )
      note(node, checker.getSymbolAtLocation(node), undefined);
    ts.forEachChild(node, visit);
  };
  for (const file of program.getSourceFiles())
    if (/\/web\/(sdk|shared)\/(?!node_modules)/.test(file.fileName) && !file.isDeclarationFile)
      visit(file);
  return found;
}

/** What a part uses and some platform of it lacks; entries that MDN does not know are `unknown`. */
function newer({ entries, platforms }) {
  const lacking = {};
  const unknown = [];
  const found = uses(entries);
  for (const [name, { entry, place, secure }] of found) {
    if (entry?.__compat === undefined) {
      unknown.push(`${name} in ${place}`);
      continue;
    }
    const where = platforms.map((one) => lack(name, entry, one, secure)).filter(Boolean);
    if (where.length > 0) lacking[name] = `${place}: not in ${where.join(', ')}`;
  }
  return { lacking, unknown, found };
}

const judged = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, newer(part)]));

for (const [name, { lacking, unknown, found }] of Object.entries(judged)) {
  test(`the ${name} uses nothing that its oldest platforms lack`, () => {
    assert.ok(found.size > 10, 'the sources were read');
    assert.deepEqual(unknown, [], 'browser-compat-data has each name');
    const left = Object.entries(lacking).filter(([one]) => guarded[one] === undefined);
    assert.deepEqual(Object.fromEntries(left), {});
  });
}

test('the manual names these platforms', () => {
  const manual = readFileSync(at('../../web/sdk/README.md'), 'utf8').replace(/\s+/g, ' ');
  for (const [name, version] of Object.entries(oldest))
    assert.match(manual, new RegExp(`${name} ${version}\\b`, 'i'));
  const { engines } = JSON.parse(readFileSync(at('../../web/sdk/package.json'), 'utf8'));
  assert.equal(engines.node, `>=${oldest.node}`);
});

test('each exception is still needed', () => {
  const lacking = Object.assign({}, ...Object.values(judged).map((one) => one.lacking));
  assert.deepEqual(Object.keys(guarded).sort(), Object.keys(lacking).sort());
});

test('the built modules have no syntax that the oldest platforms lack', () => {
  const target = Object.entries(oldest).map(([name, version]) => name + version);
  const folder = at('node_modules/@adnet/sdk/dist');
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  assert.ok(files.includes('element.js') && files.includes('client.js'));
  // What a platform lacks is rewritten for it.
  const differs = (text) =>
    transformSync(text, { target, minify: true }).code !==
    transformSync(text, { target: 'esnext', minify: true }).code;
  for (const text of ['class A { static { f() } }', '/(?<!a)b/.test(c)', '/[a--b]/v.test(c)'])
    assert.ok(differs(text), text);
  for (const name of files) assert.ok(!differs(readFileSync(`${folder}/${name}`, 'utf8')), name);
});

test('the modules for React Native have no property of Unicode in a pattern', () => {
  for (const name of ['client', 'platform', 'read', 'errors', 'types', 'text', 'discord', 'ai-sdk'])
    assert.doesNotMatch(
      readFileSync(at(`node_modules/@adnet/sdk/dist/${name}.js`), 'utf8'),
      /\\p\{/i,
    );
});

// What browsers, Node and React Native got late or never, whether it is used today or not.
const late = [
  'URL.canParse_static',
  'URL.parse_static',
  'crypto',
  'Crypto.randomUUID',
  'Crypto.getRandomValues',
  'Crypto.subtle',
  'AbortSignal.timeout_static',
  'AbortSignal.any_static',
  'AbortSignal.abort_static',
  'AbortSignal.reason',
  'AbortSignal.throwIfAborted',
  'structuredClone',
  'queueMicrotask',
  'requestIdleCallback',
  'navigator',
  'caches',
  'Array.at',
  'Array.findLast',
  'Array.findLastIndex',
  'Array.toSorted',
  'Array.toReversed',
  'Array.toSpliced',
  'Array.with',
  'Array.flat',
  'Array.flatMap',
  'Array.fromAsync_static',
  'Object.hasOwn_static',
  'Object.groupBy_static',
  'Object.fromEntries_static',
  'Map.groupBy_static',
  'Promise.withResolvers_static',
  'Promise.any_static',
  'Promise.allSettled_static',
  'Promise.try_static',
  'String.at',
  'String.replaceAll',
  'String.matchAll',
  'String.isWellFormed',
  'String.toWellFormed',
  'Error.captureStackTrace_static',
  'AggregateError',
  'WeakRef',
  'FinalizationRegistry',
  'Intl',
  'TextDecoder',
  'TextEncoder',
  'TextDecoderStream',
  'ReadableStream',
  'Blob',
  'FormData',
  'Headers',
  'Request',
  'Response',
  'URLSearchParams',
  'fetch',
  'performance',
  'IntersectionObserver',
  'BroadcastChannel',
  'MessageChannel',
  '=URL',
  '=AbortController',
];
const everything = [...new Set([...late, ...Object.keys(guarded)])];
const works = 'filled, tracked, tracked, tracked, tracked, timeout, aborted, 2 blocks, 1 embed';

for (const name of everything) {
  test(`a client works without ${name}`, async () => {
    const modules = await Promise.all(
      ['', '/mcp', '/discord'].map((one) => import(`@adnet/sdk${one}`)),
    );
    const bring = take(name);
    let result;
    try {
      result = await attempt(...modules);
    } finally {
      bring();
    }
    assert.equal(result, works);
  });
}

test('a client that is loaded works without any of them', () => {
  // Without crypto and performance Node itself reports nothing.
  const printed = execFileSync(process.execPath, [at('without.mjs'), ...everything], {
    encoding: 'utf8',
  });
  assert.equal(printed.trim(), works);
});

test('what is missing altogether is an error of the client, and never the request', async () => {
  const { Adnet } = await import('@adnet/sdk');
  const options = { url: 'https://ads.example.com', key: 'x' };
  for (const name of ['fetch', 'AbortController']) {
    const bring = take(name);
    try {
      const { error } = await new Adnet(options).ad({ context: 'x' });
      assert.deepEqual(
        [error.name, error.code, error.retryable],
        ['ClientError', 'client_error', false],
      );
      assert.match(error.message, new RegExp(name));
    } finally {
      bring();
    }
  }
});
