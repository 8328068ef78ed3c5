import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { basename } from 'node:path';
import type { Import } from './source-tree.ts';
import { writers } from './table-owners.ts';
import { code, cycles, importsOf, read, sources, projectFiles } from './source-tree.ts';

/** The order of the source tree, kept by reading it. */

const src = await sources('src');
const cli = await sources('cli');
const tools = await sources('tools');
const tests = await sources('test');
const client = await sources('client/src');
const imports = [...src, ...cli, ...tools].flatMap(importsOf);
const values = imports.filter((one) => !one.typeOnly);

/** What is wrong, one line each; an empty list passes. */
function none(what: string, found: string[]): void {
  assert.deepEqual([...new Set(found)].sort(), [], what);
}

const inside = (folder: string) => (file: string) => file.startsWith(`${folder}/`);
const nounOf = (file: string) => /^src\/(\w+)\//.exec(file)?.[1];
const arrow = (one: Import) => `${one.from} → ${one.to}`;

/** Folders that are no nouns: what every noun stands on, and the edges. */
const foundations = ['db', 'feed', 'http'];
/** Files at the edges: they may open a unit of work and see the HTTP layer. */
const isEdge = (file: string) =>
  file.startsWith('cli/') ||
  /^src\/(main|housekeeping|pages|warm-up)\.ts$/.test(file) ||
  file.startsWith('src/api/') ||
  file.startsWith('src/api/http/') ||
  /^src\/(console|player|site)\//.test(file) ||
  /\/(routes|worker|[\w-]+-page|pages)\.ts$/.test(file);

suite('layers', () => {
  test("files don't import each other in circles", () =>
    none(
      'cycles',
      cycles([...src, ...cli, ...tools], values).map((group) => group.join(' ↔ ')),
    ));

  test("a noun's store is imported inside its own folder only", () => {
    none(
      'stores',
      values.filter((one) => /^src\/\w+\/store\.ts$/.test(one.to) && nounOf(one.from) !== nounOf(one.to)).map(arrow),
    );
  });

  test("what others may ask of a store stands in one file, which has its folder's name", () => {
    const reExports = /^export (?:type )?\{[^}]*\} from '[^']+';$/gm;
    none(
      'doors',
      src.filter(
        (file) => code(file).replace(reExports, '').trim() === '' && basename(file, '.ts') !== file.split('/').at(-2),
      ),
    );
  });

  test('the database knows no noun and no edge', () => {
    none(
      'db',
      values
        .filter(
          (one) =>
            inside('src/platform/db')(one.from) &&
            one.to.startsWith('src/') &&
            !inside('src/platform/db')(one.to) &&
            !/^src\/(clock|random|log|limits|measures|metrics|sync-folder|tracing)\.ts$/.test(one.to),
        )
        .map(arrow),
    );
  });

  test('the feed knows no noun and no edge', () => {
    none(
      'feed',
      values
        .filter(
          (one) =>
            inside('src/feed')(one.from) &&
            one.to.startsWith('src/') &&
            !foundations.slice(0, 2).includes(nounOf(one.to) ?? '') &&
            !/^src\/(limits|clock|measures)\.ts$/.test(one.to),
        )
        .map(arrow),
    );
  });

  test('only edges see the HTTP layer', () => {
    none(
      'http',
      values
        .filter((one) => inside('src/api/http')(one.to) && !isEdge(one.from) && !inside('src/sandbox')(one.from))
        .map(arrow),
    );
  });

  test('nothing but an edge imports an edge', () => {
    none(
      'edges',
      values
        .filter((one) => one.from.startsWith('src/') && !isEdge(one.from) && (isEdge(one.to) || inside('cli')(one.to)))
        .map(arrow),
    );
  });

  test("the client's library needs no package, nothing of the service, and nothing that only one runtime has", () => {
    none(
      'client',
      client
        .flatMap(importsOf)
        // A file is only to be had from Node's own module, which Bun and Deno have too.
        .filter((one) => !inside('client/src')(one.to) && one.from !== 'client/src/stores/json-file.ts')
        .map(arrow),
    );
  });

  test('only the command line loads the tools, when one of their commands is called', () => {
    none(
      'tools',
      imports
        .filter((one) => inside('tools')(one.to) && !inside('tools')(one.from) && one.from !== 'cli/kit/run.ts')
        .map(arrow),
    );
    assert.doesNotMatch(read('cli/kit/run.ts'), /from '..\/tools/);
  });

  test('SQL stands in stores, lists and the like, never in routes or schemas', () => {
    none(
      'sql',
      [...src, ...cli].filter(
        (file) => /\/(routes|schema)\.ts$/.test(file) && /\bstatement\(|\.query\(/.test(code(file)),
      ),
    );
  });

  test('a unit of work is opened at the edges, and by verbs that need more than one or work outside one', () => {
    const verbs =
      /^src\/(db\/work|retention\/run|restore\/\w+|restamp|upgrade|digest|imports\/(file|run)|evidence\/store|withdrawals\/forget|merging\/matching|jobs\/jobs|leaving\/delete|sittings\/(start|answer|finish|expire)|sandbox\/\w+|conform\/stage)\.ts$/;
    none(
      'inWork',
      src.filter((file) => !isEdge(file) && !verbs.test(file) && /\binWork\(/.test(code(file))),
    );
  });

  test('what takes a unit of work and opens none has no way to the connections', () => {
    const takers = src.filter(
      (file) => /\bimport type \{[^}]*\bWork\b/.test(code(file)) && !/\b(inWork|eachOld)\(/.test(code(file)),
    );
    assert.ok(takers.length > 10);
    none(
      'connections',
      takers.filter(
        (file) =>
          // It tells the workers once the transaction is over.
          file !== 'src/feed/events/emit.ts' && /\bimport type \{[^}]*\b(App|Database|Dedicated)\b/.test(code(file)),
      ),
    );
    const [, work] = /export type Work = ([\s\S]*?);\n\n/.exec(code('src/platform/db/work.ts'))!;
    assert.doesNotMatch(work!, /\bapp\b|'(db|clock|log)'/);
  });

  const pure = [
    'src/feed/cursor.ts',
    'src/records/evidence/document.ts',
    'src/integrations/webhooks/signing.ts',
    'src/feed/time.ts',
    'src/feed/etag.ts',
    ...src.filter(inside('src/engine/scoring')),
  ];
  const impure =
    /^(node:(?!crypto$|util$|buffer$|assert|url$)|pg$|undici$|fastify$|src\/(db|http|main|settings|log|app)\b)/;
  for (const file of pure) {
    test(`${file} is pure, with all that it imports`, () => {
      const reached = new Set([file]);
      for (const one of reached) for (const edge of values) if (edge.from === one) reached.add(edge.to);
      none(
        'impure',
        [...reached].filter((one) => impure.test(one)),
      );
    });
  }
});

suite('the graph by folder', () => {
  const folderOf = (file: string) => (inside('cli')(file) ? 'cli' : nounOf(file));
  const between = imports.flatMap((one) => {
    const [from, to] = [folderOf(one.from), folderOf(one.to)];
    return from === undefined || to === undefined || from === to ? [] : [{ one, from, to }];
  });

  test('folders need each other in no circle, types included', () => {
    const folders = [...new Set(between.flatMap(({ from, to }) => [from, to]))];
    const edges = between.map(({ from, to }) => ({ from, to, typeOnly: false }));
    none(
      'circles',
      cycles(folders, edges).map((group) => group.join(' ↔ ')),
    );
  });

  test('files need each other in no circle either when types count', () => {
    none(
      'type cycles',
      cycles([...src, ...cli, ...tools], imports).map((group) => group.join(' ↔ ')),
    );
  });

  test('what every noun stands on knows no noun', () => {
    const ground = ['db', 'feed', 'files', 'http'];
    none(
      'ground',
      between
        // What a list records has its type in the audit log.
        .filter(({ from, to }) => ground.includes(from) && !ground.includes(to) && to !== 'audit')
        .map(({ one }) => arrow(one)),
    );
  });
});

suite('every table has one owner', () => {
  const tables = [...read('src/platform/db/schema.sql').matchAll(/create (?:unlogged )?table (?:public\.)?(\w+)/gi)].map(
    ([, table]) => table!,
  );

  test('which the map names', () => {
    assert.notEqual(tables.length, 0);
    none(
      'without an owner',
      tables.filter((table) => !Object.hasOwn(writers, table)),
    );
  });

  test('and nobody else writes it, but for the exceptions', () => {
    const write = /\b(?:insert\s+into|update|delete\s+from|truncate(?:\s+table)?)\s+(?:only\s+)?"?(\w+)/gi;
    none(
      'writers',
      [...src, ...cli].flatMap((file) =>
        [...code(file).matchAll(write)].flatMap(([, table]) => {
          if (!tables.includes(table!)) return [];
          const [owner, ...others] = writers[table!] ?? [''];
          const may = file === owner || inside(owner)(file) || others.some(([other]) => other === file);
          return may ? [] : [`${file} writes ${table!}`];
        }),
      ),
    );
  });

  test('and each exception is one', () => {
    none(
      'exceptions that are none any more',
      Object.entries(writers).flatMap(([table, [, ...others]]) =>
        others
          .filter(([file]) => !new RegExp(`\\b(into|update|from|truncate)\\s+${table}\\b`, 'i').test(code(file)))
          .map(([file]) => `${file} writes ${table} no more`),
      ),
    );
  });
});

suite('time and randomness are injected', () => {
  const banned: [string, RegExp][] = [
    ['Date.now', /\bDate\.now\b/],
    ['new Date()', /\bnew Date\(\s*\)/],
    ['Date()', /(?<!new )(?<![\w.])Date\(\s*\)/],
    ['Math.random', /\bMath\.random\b/],
    ['randomUUID', /\brandomUUID\b/],
    ['randomBytes', /\brandom(Bytes|Int|Fill)\w*\b/],
    ['getRandomValues', /\bgetRandomValues\b/],
    ['performance.now', /\bperformance\.now\b/],
    ['process.hrtime', /\bhrtime\b/],
  ];
  // How long something took is no input: tests may measure it.
  const measures = ['performance.now', 'process.hrtime'];
  for (const [name, pattern] of banned) {
    test(`no ${name} outside clock.ts and random.ts`, () => {
      none(
        name,
        [...src, ...cli, ...tools, ...client, ...(measures.includes(name) ? [] : tests)].filter(
          (file) =>
            !/^(src\/(clock|random)|client\/src\/surroundings)\.ts$/.test(file) &&
            file !== 'test/support/tidy.test.ts' &&
            pattern.test(code(file)),
        ),
      );
    });
  }

  test('no clock or randomness of the database', () => {
    const clock =
      /\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|gen_random_uuid|uuid_generate_v4|uuidv7|uuidv4|random)\(\s*\)|\bcurrent_(timestamp|date|time)\b|\blocaltimestamp\b/i;
    const sql = projectFiles().filter((file) => /^src\/.*\.sql$/.test(file));
    none(
      'sql clock',
      [...src, ...cli]
        // The one clock is the database's.
        .filter((file) => file !== 'src/platform/db/clock.ts')
        .filter((file) =>
          (code(file).match(/`[^`]*`|'[^'\n]*'/g) ?? []).some(
            (text) => /\b(select|insert|update|delete|default)\b/i.test(text) && clock.test(text),
          ),
        )
        .concat(sql.filter((file) => clock.test(read(file)))),
    );
  });
});

// The runtime's own is quadratic in a run of marks; the item bank reads answers of at most 500 characters.
test('text is normalised by normalised.ts', () =>
  none(
    'normalize',
    [...src, ...cli].filter(
      (file) => !/^src\/(normalised\.ts|sandbox\/people\.ts|bank\/)/.test(file) && /\.normalize\('NF/.test(code(file)),
    ),
  ));

suite('the tree', () => {
  test('no drawers', () =>
    none(
      'drawers',
      projectFiles().filter((file) => /(^|\/)(utils?|helpers?|common|lib|misc)(\/|\.[jt]s$)/.test(file)),
    ));

  test('no file is longer than 450 lines', () => {
    none(
      'long',
      [...src, ...cli, ...tools, ...client, ...tests].filter(
        (file) => file !== 'client/src/openapi.ts' && read(file).split('\n').length > 450,
      ),
    );
  });

  test('no function is longer than 115 lines', () => {
    const whole = /^(?:export )?(?:async )?function\*? (\w+)[^]*?^\}/gm;
    none(
      'long functions',
      [...src, ...cli, ...tools].flatMap((file) =>
        [...read(file).matchAll(whole)]
          .filter(([text]) => text.split('\n').length > 115)
          .map(([, name]) => `${file}: ${name!}`),
      ),
    );
  });

  test('nothing is put off', () => {
    const marks = new RegExp(
      ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].map((mark) => `\\b${mark}\\b`).join('|'),
    );
    none(
      'marks',
      [...src, ...cli, ...tools, ...client, ...tests].filter((file) => marks.test(read(file))),
    );
  });

  test('no test is skipped or narrowed in a run of its own', () => {
    none(
      'narrowed',
      tests.filter(
        (file) =>
          file !== 'test/support/tidy.test.ts' &&
          /\b(test|it|suite|describe)(\.(skip|todo|only)\b|\([^\n]*\b(skip|only|todo): true\b)/.test(code(file)),
      ),
    );
  });

  test('tests are written as suites and tests', () => {
    none(
      'other dialects',
      tests.filter((file) => /^import \{[^}]*\b(describe|it)\b[^}]*\} from 'node:test'/m.test(read(file))),
    );
  });

  test('no machine paths, registry hosts or absolute homes', () => {
    const paths = new RegExp(
      [
        '(?<![\\w.])/' + 'work/',
        '/tm' + 'p/[a-z0-9]+/',
        '/ho' + 'me/\\w+/',
        '/ro' + 'ot/',
        'registry\\.npm' + 'js',
        '"resolved": *"http',
      ].join('|'),
    );
    const texts = projectFiles().filter(
      (file) =>
        /\.(ts|js|json|md|sql|yml|yaml|html|css|sh|cs|java|php|py)$/.test(file) &&
        !/^(src\/bank\/items|test\/fixtures)\//.test(file),
    );
    none(
      'paths',
      texts.filter((file) => paths.test(readIfThere(file))),
    );
  });

  test('tests mirror the sources: every test folder has its source folder', () => {
    const folders = new Set(src.map(nounOf));
    const own = new Set([
      'contract',
      'laws',
      'event-loop',
      'expressions',
      'browser',
      'cli',
      'examples',
      'fixtures',
      'client',
      'item-bank',
      'docs',
      'deploy',
      'pictures',
    ]);
    none(
      'unmirrored',
      tests
        .map((file) => /^test\/([\w-]+)\//.exec(file)?.[1])
        .filter((folder): folder is string => folder !== undefined && !folders.has(folder) && !own.has(folder)),
    );
  });
});

test('every file name says a noun or a verb in small letters', () => {
  none(
    'names',
    [...src, ...cli, ...tools, ...client].filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.ts$/.test(basename(file))),
  );
});

function readIfThere(file: string): string {
  try {
    return read(file);
  } catch {
    return '';
  }
}
