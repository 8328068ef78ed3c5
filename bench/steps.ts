export type Step = {
  name: string;
  what: string;
  /** The program in `bench/scenarios`, and its arguments. */
  run: string[];
  /** Arguments for one round on small data. Null: it installs other services, so no test runs it. */
  small: string[] | null;
};

/** All benchmarks, in the order of `npm run bench`. */
export const steps: Step[] = [
  { name: 'poll', what: 'Conditional polls (304)', run: ['poll.ts'], small: ['1', '1'] },
  ...[100_000, 1_000_000, 10_000_000].map((size) => ({
    name: `pages-${size}`,
    what: `Pages at ${size.toLocaleString('en-GB')} results`,
    run: ['pages.ts', String(size)],
    small: ['2000', '1'],
  })),
  { name: 'peers', what: 'Pages beside generated APIs, 1,000,000 results', run: ['peers.ts'], small: null },
  { name: 'one-result', what: 'A result by its ID', run: ['one-result.ts'], small: ['1', '1', '500'] },
  { name: 'moves', what: '500 learners change groups', run: ['moves.ts'], small: ['1', '600', '1', '50'] },
  { name: 'report', what: 'Stored reports', run: ['report.ts'], small: ['1', '1', '20'] },
  { name: 'evidence', what: 'Evidence packs made', run: ['evidence.ts'], small: ['40'] },
  { name: 'writes', what: 'Completions', run: ['writes.ts'], small: ['1', '1'] },
  { name: 'import', what: 'Import of 400,000 results', run: ['import.ts'], small: ['1000'] },
  { name: 'digest', what: 'Digest', run: ['digest.ts'], small: ['1', '2000'] },
  { name: 'first-sync', what: 'First sync by the client', run: ['first-sync.ts'], small: ['2000', '1', '1000'] },
  { name: 'delivery', what: 'Webhook deliveries', run: ['delivery.ts'], small: ['500', '500', '10', '1'] },
  { name: 'invite', what: 'Invitations', run: ['invite.ts'], small: ['100'] },
  { name: 'sitting', what: 'Next question, 200 sittings', run: ['sitting.ts'], small: ['5', '2', '1'] },
  { name: 'console', what: 'Console, 1,000,000 results', run: ['console.ts'], small: ['2000', '2'] },
];
