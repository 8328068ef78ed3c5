import { listOrganisations } from '../../../src/organisations/organisations.ts';
import { answersLeast, maxExposure, reportFit } from '../../../src/sittings/scoring/fit.ts';
import { type SittingReview, reviewSitting, flagWords } from '../../../src/sittings/review.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, command, Failure } from '../../kit/command.ts';
import { organisationCommand, organisationOf, withApp } from '../../kit/open.ts';
import { flag, text } from '../../kit/options.ts';
import { linesOf, table, tableOf } from '../../kit/table.ts';
import { exportSittings } from './export.ts';

const share = (value: number | null): string => (value === null ? '-' : `${(100 * value).toFixed(1)}%`);
const decimal = (value: number | null): string => (value === null ? '-' : value.toFixed(2));

const clock = (ms: number | null): string =>
  ms === null ? '-' : `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

function reviewText(review: SittingReview): string {
  const { pauses } = review;
  const flags = flagWords(review);
  return [
    table([
      ['subject', review.subject],
      ['started_at', review.started_at],
      ['finished_at', review.finished_at],
      ['working time', `${clock(review.working_ms)} of ${clock(review.time_limit_ms)}`],
      ['pauses', pauses === null ? 'not measured' : `${pauses.count}, ${clock(1000 * pauses.seconds)} together`],
      ['ended', review.ended],
      ['signs', flags.length === 0 ? 'none' : flags.join('; ')],
    ]),
    '',
    tableOf(review.items, [
      ['', 'position'],
      ['item', 'item_id'],
      'skill',
      ['outcome', (item) => (item.pilot ? `${item.outcome} (on trial)` : item.outcome)],
      ['time', (item) => clock(item.working_ms)],
      'pauses',
      ['paused', (item) => clock(item.paused_ms)],
    ]),
  ].join('\n');
}

export const commands: Command[] = [
  exportSittings,
  organisationCommand({
    name: 'sittings show',
    summary: 'Show how the sitting behind a result went',
    notes: 'The output has every question with its outcome and working time, the pauses and the engagement flags.',
    examples: ['--organisation $ORG ASSESSMENT_ID', '--organisation $ORG ASSESSMENT_ID --json'],
    takes: 'ASSESSMENT_ID',
    run: async ({ app, organisationId, note, positionals }) => {
      const id = positionals[0]!;
      const review = isUuid(id) ? (await reviewSitting(app, organisationId, id))?.review : undefined;
      if (review === undefined) throw new Failure(`no result of a sitting of this organisation has the ID ${id}`);
      await note(id);
      return { json: review, text: reviewText(review) };
    },
  }),
  command({
    name: 'sittings report',
    summary: 'Report exposure and fit of items',
    examples: ['--organisation $ORG', '--all --json'],
    about: { organisation: 'Only sittings of this organisation', all: 'Prints all items, not only flagged items' },
    options: { organisation: text('ID'), all: flag },
    run: ({ options: { organisation, all } }) =>
      withApp(async (app) => {
        const organisations =
          organisation === undefined ? await listOrganisations(app.db) : [await organisationOf(app, organisation)];
        const ids = organisations.map((one) => one.organisation_id);
        const report = await reportFit(app, ids);
        const shown = all ? report.items : report.items.filter((item) => item.flags.length > 0);
        const items = tableOf(shown, [
          ['item', 'item_id'],
          'shown',
          ['exposure', (fit) => share(fit.exposure)],
          'scored',
          ['right', (fit) => share(fit.right_share)],
          ['expected', (fit) => share(fit.expected_share)],
          ['z', (fit) => decimal(fit.z)],
          ['infit', (fit) => decimal(fit.infit)],
          'skipped',
          'flags',
        ]);
        const lines = report.sittings.map(({ subject, bank_version, completed }) => {
          const own = report.items.filter((item) => item.subject === subject && item.bank_version === bank_version);
          return `${subject}, bank ${bank_version}: ${completed} completed sittings; highest exposure ${share(Math.max(...own.map((item) => item.exposure)))}; ${own.filter((item) => item.shown === 0).length} of ${own.length} items never shown.`;
        });
        return {
          json: { sittings: report.sittings, items: shown },
          text: linesOf(
            ...lines,
            lines.length === 0
              ? 'There are no completed sittings.'
              : `Flags: exposure above ${share(maxExposure)}; harder or easier than calibrated (|z| > 3) and misfit only with at least ${answersLeast} answers.`,
            shown.length === 0 ? 'No item is flagged.' : `\n${items}`,
          ),
        };
      }),
  }),
];
