import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { basename, dirname } from 'node:path';
import { rooms } from './architecture.ts';
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
const arrow = (one: Import) => `${one.from} → ${one.to}`;

const order = [...rooms, 'main.ts'];
const roomOf = (file: string) => file.split('/')[1]!;

/** Files that may open a unit of work: commands, endpoints, pages and what the server wires. */
const isEdge = (file: string) =>
  file.startsWith('cli/') ||
  /^src\/(main\.ts|api\/|web\/|server\/)/.test(file) ||
  /\/(worker|[\w-]+-page)\.ts$/.test(file);

suite('layers', () => {
  test("files don't import each other in circles", () =>
    none(
      'cycles',
      cycles([...src, ...cli, ...tools], values).map((group) => group.join(' ↔ ')),
    ));

  test("a noun's store is imported inside its own folder and by its endpoints only", () => {
    none(
      'stores',
      values
        .filter(
          (one) =>
            one.to.endsWith('/store.ts') && !inside(dirname(one.to))(one.from) && !inside('src/api/routes')(one.from),
        )
        .map(arrow),
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

  test('src has twelve rooms and main.ts', () => {
    assert.deepEqual([...new Set(src.map(roomOf))].sort(), order.toSorted());
  });

  test('imports go down, types included', () => {
    none(
      'upwards',
      imports
        .filter(({ from, to }) => from.startsWith('src/') && to.startsWith('src/'))
        .filter(({ from, to }) => order.indexOf(roomOf(to)) > order.indexOf(roomOf(from)))
        .map(arrow),
    );
    none('src imports no command', values.filter((one) => inside('src')(one.from) && inside('cli')(one.to)).map(arrow));
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
      /^src\/(platform\/db\/unit-of-work|governance\/(retention\/run|restore\/\w+|upgrade\/\w+|erasure\/forget|deduplication\/matching|offboarding\/delete)|feed\/(digest-repair|jobs\/jobs)|organisations\/users\/sign-in|records\/(import\/(file|run)|evidence\/store|results\/lists\/distance)|sittings\/(start|answer|finish|expire|invitations\/reminders)|sandbox\/(\w+|data\/training-provider|chaos\/\w+|conformance\/stage))\.ts$/;
    none(
      'withUnitOfWork',
      src.filter((file) => !isEdge(file) && !verbs.test(file) && /\bwithUnitOfWork\(/.test(code(file))),
    );
  });

  test('what takes a unit of work and opens none has no way to the connections', () => {
    const takers = src.filter(
      (file) =>
        /\bimport (?:type )?\{[^}]*\bUnitOfWork\b/.test(code(file)) &&
        !/\b(withUnitOfWork|cancelOld)\(/.test(code(file)),
    );
    assert.ok(takers.length > 10);
    none(
      'connections',
      takers.filter(
        (file) =>
          // One tells the workers once the transaction is over, the other has types alone.
          !['src/feed/events/emit.ts', 'src/api/http/route.ts'].includes(file) &&
          /\bimport (?:type )?\{[^}]*\b(App|Database|Dedicated)\b/.test(code(file)),
      ),
    );
    const [, work] = /export type UnitOfWork = ([\s\S]*?);\n\n/.exec(code('src/platform/db/unit-of-work.ts'))!;
    assert.doesNotMatch(work!, /\bapp\b|'(db|clock|log)'/);
  });

  const pure = [
    'src/feed/cursor.ts',
    'src/records/evidence/document.ts',
    'src/integrations/webhooks/http/signing.ts',
    'src/feed/time.ts',
    'src/feed/etag.ts',
    ...src.filter(inside('src/engine/scoring')),
  ];
  const impure =
    /^(node:(?!crypto$|util$|buffer$|assert|url$)|pg$|undici$|fastify$|src\/(platform\/(db|app|config\/settings|observability)|api|main)\b)/;
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

test('files need each other in no circle either when types count', () =>
  none(
    'type cycles',
    cycles([...src, ...cli, ...tools], imports).map((group) => group.join(' ↔ ')),
  ));

suite('every table has one owner', () => {
  const tables = [
    ...read('src/platform/db/schema.sql').matchAll(/create (?:unlogged )?table (?:public\.)?(\w+)/gi),
  ].map(([, table]) => table!);

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
  const metricDefinitions = ['performance.now', 'process.hrtime'];
  for (const [name, pattern] of banned) {
    test(`no ${name} outside clock.ts and random.ts`, () => {
      none(
        name,
        [...src, ...cli, ...tools, ...client, ...(metricDefinitions.includes(name) ? [] : tests)].filter(
          (file) =>
            !/^(src\/platform\/(time\/clock|crypto\/random)|client\/src\/surroundings)\.ts$/.test(file) &&
            file !== 'test/support/structure/tidy.test.ts' &&
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
test('text is normalised by personal-data.ts', () =>
  none(
    'normalize',
    [...src, ...cli].filter(
      (file) =>
        !/^src\/(platform\/validation\/personal-data\.ts|sandbox\/data\/people\.ts|engine\/item-bank\/)/.test(file) &&
        /\.normalize\('NF/.test(code(file)),
    ),
  ));

suite('the tree', () => {
  // The base only falls. A change that brings a feature adds its lines below and says why in its commit.
  const base = 71_500;
  const features: Record<string, number> = {
    'console: forms kept during a sign-in': 150,
    'console: what an owner sets up first': 80,
    'reminders of learners who have not begun': 150,
    'scheduled reports': 455,
    'early retakes that wait at the link, repeated questions in results, probabilities of example results': 165,
    'choices in an order drawn for each sitting, unless they are in order': 150,
    'full help of every command': 700,
    'XLSX and ODS in for invitations and results, columns of other systems mapped by hand': 1250,
    'groups in the check before inviting, bulk actions for selected learners': 260,
    'OpenAPI 3.0.3': 80,
    'Postman collection': 120,
    'API messages that name the field and the nearest name': 70,
    'acknowledgement of complaints': 30,
    'console: states in colour, charts, lists sorted by every column': 280,
    'dashboard with charts, lists of attention, names in the credit ledger': 690,
    'saved views and a choice of columns in lists': 190,
    'distance travelled with its totals': 330,
    'reviewers, second factor for all, activity in sentences, reviews in series': 620,
    'gaps by domain, as a page, on paper and as a file': 260,
    'console: search by name, group, key and page': 200,
    'jobs in few clicks, totals of lists, results in search': 20,
    'reports for a learner and a class, file for the ILR': 390,
    'watchdog of systemd': 26,
    'audit rows, a metric and an alert for failed sign-ins': 85,
    'failed sign-ins counted by known browser, with an email and a link': 245,
    'console: lists that read an index for what few rows match': 30,
    'status of all organisations, as a page of the operator and a command': 520,
    'public IDs in log lines, audit rows of refused console requests, hosts of the status page': 100,
    'random samples of results for internal quality assurance': 205,
    'forms kept during a sign-in at the identity provider': 112,
    'single sign-on only, with an emergency owner and a command to lift it': 235,
    'metrics of organisations and of silent keys': 80,
    'slips, decimal commas and rates in typed answers, read as a tutor reads them': 65,
    'questions on trial, and answers without persons for calibration': 430,
    'provisional results, and close to a boundary by probabilities, in pages, files and reports': 45,
    'evidence that says what each question asked, and instructions that can be heard': 76,
    'drawn clocks, money, scales and graphs, with the same facts in words': 560,
    'drawn shapes, solids, nets, angles, maps and icons': 700,
    'domains compared with each other and with the next level': 370,
    'early ends and easier questions for weak learners': 65,
    'a higher discrimination for calibrated items': 3,
  };
  const most = Object.values(features).reduce((sum, lines) => sum + lines, base);

  test(`src and cli have at most ${most} lines`, () => {
    const lines = [...src, ...cli].reduce((sum, file) => sum + read(file).split('\n').length - 1, 0);
    assert.ok(lines <= most, `They have ${lines}. Cut, or say in the commit what the lines bring.`);
  });

  test('no drawers', () =>
    none(
      'drawers',
      projectFiles().filter((file) => /(^|\/)(utils?|helpers?|common|lib|misc)(\/|\.[jt]s$)/.test(file)),
    ));

  test('no folder has more than 15 files', () => {
    const perFolder = Map.groupBy(
      projectFiles().filter((file) => /^(src|cli|test|bench)\//.test(file) && !file.endsWith('.ttf')),
      (file) => dirname(file),
    );
    // Data: what grows by one file for each migration, font or page.
    const isData = (folder: string) => /\/(migrations|fonts|items|fixtures)(\/|$)/.test(folder);
    none(
      'full',
      [...perFolder].filter(([folder, files]) => files.length > 15 && !isData(folder)).map(([folder]) => folder),
    );
  });

  test('no file is longer than 450 lines', () => {
    none(
      'long',
      [...src, ...cli, ...tools, ...client, ...tests].filter(
        (file) => file !== 'client/src/openapi.ts' && read(file).split('\n').length > 450,
      ),
    );
  });

  test('no function is longer than 60 lines, but for two that are still to be split', () => {
    const whole = /^(?:export )?(?:async )?function\*? (\w+)[^]*?^\}/gm;
    const longer = ['jobsOf', 'startEmbedded'];
    none(
      'long functions',
      [...src, ...cli, ...tools, ...client].flatMap((file) =>
        [...read(file).matchAll(whole)]
          .filter(([text, name]) => text.split('\n').length > 60 && !longer.includes(name!))
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
          file !== 'test/support/structure/tidy.test.ts' &&
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
        !/^(src\/engine\/item-bank\/items|test\/fixtures)\//.test(file),
    );
    none(
      'paths',
      texts.filter((file) => paths.test(readIfThere(file))),
    );
  });

  test('tests have the rooms of the sources', () => {
    const own = [
      'contract',
      'laws',
      'browser',
      'support',
      'commands',
      'client',
      'documents',
      'deploy',
      'bench',
      'fuzz',
    ];
    const others = ['event-loop', 'examples', 'expressions', 'fixtures', 'item-bank', 'pictures', 'prose'];
    none(
      'rooms',
      tests.filter((file) => file.split('/').length > 2 && ![...rooms, ...own, ...others].includes(roomOf(file))),
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
