export type Step = {
  name: string;
  what: string;
  /** The program of this folder, and its arguments. */
  run: string[];
  /** Arguments for one round on small data; null: it installs other services, so no test runs it. */
  small: string[] | null;
  /** What it is measured beside. */
  peer: string;
  /** A second database, for a service beside the first. */
  other?: boolean;
  /** It goes on with what an interrupted run has filled; the others begin with an empty database. */
  kept?: boolean;
};

/** All benchmarks, in the order in which `npm run bench` carries them out. */
export const steps: Step[] = [
  {
    name: 'poll',
    what: 'Conditional poll that ends in 304; what the log keeps of it',
    run: ['poll.ts', '9', '4', 'without-detail'],
    small: ['1', '1', 'without-detail'],
    peer: 'bare `node:http` that answers 304; the same service whose rows keep no detail',
    other: true,
  },
  ...[100_000, 1_000_000, 10_000_000].map((size) => ({
    name: `pages-${size}`,
    what: `Pages at ${size.toLocaleString('en-GB')} results`,
    run: ['pages.ts', String(size), '3'],
    small: ['2000', '1'],
    peer: `the driver alone; the same page at ${size > 100_000 ? '100,000' : '10,000'} results`,
    kept: true,
  })),
  {
    name: 'peers',
    what: 'Pages beside generated APIs, 1,000,000 results',
    run: ['peers.ts'],
    small: null,
    peer: 'PostGraphile 5 and Directus 12 on a flat table of the same results',
    kept: true,
  },
  {
    name: 'organisations',
    what: '1,000 organisations of skewed size',
    run: ['organisations.ts'],
    small: ['--organisations', '20', '--largest', '500', '--minutes', '0.05'],
    peer: 'the same minutes without a poll',
    kept: true,
  },
  {
    name: 'one-result',
    what: 'A result by its id',
    run: ['one-result.ts'],
    small: ['1', '1', '500'],
    peer: 'bare `node:http` that makes one prepared lookup',
  },
  {
    name: 'exits',
    what: 'Pages of scope exits after everybody left a group',
    run: ['exits.ts'],
    small: ['200'],
    peer: 'an unfiltered walk of the same positions, page by page',
  },
  {
    name: 'moves',
    what: '500 learners × 20 results join, move and leave',
    run: ['moves.ts'],
    small: ['1', '200', '1', '50'],
    peer: '',
  },
  {
    name: 'report',
    what: 'Stored report',
    run: ['report.ts'],
    small: ['1', '1', '20'],
    peer: 'plain file of its size from bare `node:http`',
  },
  { name: 'evidence', what: 'Evidence packs made', run: ['evidence.ts'], small: ['--reports', '40'], peer: '' },
  {
    name: 'writes',
    what: 'Completions',
    run: ['writes.ts'],
    small: ['1', '1'],
    peer: "the same transactions without the feed's lock",
  },
  {
    name: 'import',
    what: 'Import from NDJSON, 400,000 results',
    run: ['import.ts'],
    small: ['1000'],
    peer: 'prepared inserts of 500 rows, and `COPY`, into tables with the same indexes',
  },
  {
    name: 'digest',
    what: 'What the digest costs',
    run: ['digest.ts'],
    small: ['1', '1', '2000'],
    peer: 'the same statements without it, in turns',
  },
  {
    name: 'first-sync',
    what: "First sync into PostgreSQL by the client's mirror",
    run: ['first-sync.ts'],
    small: ['2000', '1', '1000'],
    peer: 'bare `COPY` of the same rows from the same pages',
    kept: true,
  },
  {
    name: 'delivery',
    what: 'Webhook deliveries',
    run: ['delivery.ts'],
    small: ['--deliveries', '500', '--backlog', '500', '--idle', '10', '--rounds', '1'],
    peer: 'bare undici loop that signs and posts',
  },
  { name: 'invite', what: 'Learners invited in one run', run: ['invite.ts'], small: ['100', '10'], peer: 'one by one' },
  {
    name: 'xlsx',
    what: 'Results as files',
    run: ['xlsx.ts'],
    small: ['--results', '500'],
    peer: 'the same rows read without being written',
  },
  {
    name: 'sitting',
    what: 'Next question, 200 sittings at once',
    run: ['sitting.ts'],
    small: ['5', '2', '1'],
    peer: 'bare commit',
  },
  {
    name: 'seal',
    what: 'Sealing the log of 20,000 organisations that each poll once a minute',
    run: ['seal.ts'],
    small: ['50', '1'],
    peer: '',
  },
  {
    name: 'refused',
    what: 'A million calls without valid credentials',
    run: ['refused.ts', '1000000'],
    small: ['1000'],
    peer: '',
  },
  {
    name: 'restamp',
    what: 'A tight writer beside a restamp',
    run: ['restamp.ts'],
    small: ['1000', '1'],
    peer: 'the same writer without, in turns',
  },
  {
    name: 'beside',
    what: 'One organisation beside another at its worst',
    run: ['beside.ts', '100000', '6'],
    small: ['2000', '1'],
    peer: 'the same organisation while nothing else happens',
  },
  {
    name: 'console',
    what: 'Every page of the console: 100,000 learners, 1,000,000 results, 10,000,000 rows of the log',
    run: ['console.ts'],
    small: ['--results', '2000', '--rows', '2000', '--deliveries', '100', '--samples', '2'],
    peer: '',
    kept: true,
  },
];
