import { listOrganisations } from '../src/organisations/organisations.ts';
import type { ItemFit } from '../src/sittings/fit.ts';
import { answersLeast, exposureMost, reportFit } from '../src/sittings/fit.ts';
import type { SittingReview } from '../src/sittings/review.ts';
import { reviewSitting, signWords } from '../src/sittings/review.ts';
import { isUuid } from '../src/uuid.ts';
import type { Command } from './command.ts';
import { Failure } from './command.ts';
import { act, option, organisationOf, requiredOption, table, withApp } from './open.ts';

const share = (value: number | null): string => (value === null ? '-' : `${(100 * value).toFixed(1)}%`);
const figure = (value: number | null): string => (value === null ? '-' : value.toFixed(2));

function rowOf(fit: ItemFit): string[] {
  return [
    fit.item_id,
    String(fit.shown),
    share(fit.exposure),
    String(fit.scored),
    share(fit.right_share),
    share(fit.expected_share),
    figure(fit.z),
    figure(fit.infit),
    String(fit.skipped),
    fit.flags.join(', '),
  ];
}

const clock = (ms: number | null): string =>
  ms === null ? '-' : `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

function reviewText(review: SittingReview): string {
  const { pauses } = review;
  const signs = signWords(review);
  return [
    table([
      ['subject', review.subject],
      ['started_at', review.started_at.toISOString()],
      ['finished_at', review.finished_at.toISOString()],
      ['working time', `${clock(review.working_ms)} of ${clock(review.time_limit_ms)}`],
      ['pauses', pauses === null ? 'not measured' : `${pauses.count}, ${clock(1000 * pauses.seconds)} together`],
      ['ended', review.ended],
      ['signs', signs.length === 0 ? 'none' : signs.join('; ')],
    ]),
    '',
    table([
      ['', 'item', 'skill', 'outcome', 'time', 'pauses', 'paused'],
      ...review.items.map((item) => [
        String(item.position),
        item.item_id,
        item.skill,
        item.outcome,
        clock(item.working_ms),
        String(item.pauses),
        clock(item.paused_ms),
      ]),
    ]),
  ].join('\n');
}

export const commands: Command[] = [
  {
    name: 'sittings show',
    usage: '--organisation ID ASSESSMENT_ID',
    summary:
      'How the sitting behind a result went: every question with outcome and working time, pauses, signs to look at',
    positionals: [1, 1],
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const organisation = await organisationOf(app, requiredOption(call, 'organisation'));
        const id = call.positionals[0]!;
        const review = isUuid(id) ? await reviewSitting(app, organisation.organisation_id, id) : undefined;
        if (review === undefined) throw new Failure(`no result of a sitting of this organisation has the id ${id}`);
        await act(app, organisation.organisation_id, 'sittings show', async () => ({ result: null, resource: id }));
        return { json: review, text: reviewText(review) };
      }),
  },
  {
    name: 'sittings report',
    usage: '[--organisation ID] [--all]',
    summary: 'Exposure and fit of the items in completed sittings: flagged items, or all',
    options: { organisation: { type: 'string' }, all: { type: 'boolean' } },
    run: (call) =>
      withApp(async (app) => {
        const id = option(call, 'organisation');
        const organisations = id === undefined ? await listOrganisations(app.db) : [await organisationOf(app, id)];
        const report = await reportFit(
          app,
          organisations.map((organisation) => organisation.organisation_id),
        );
        const shown = call.options.all === true ? report.items : report.items.filter((item) => item.flags.length > 0);
        const text = [
          ...report.sittings.map(({ subject, bank_version, completed }) => {
            const own = report.items.filter((item) => item.subject === subject && item.bank_version === bank_version);
            return `${subject}, bank ${bank_version}: ${completed} completed sittings; highest exposure ${share(Math.max(...own.map((item) => item.exposure)))}; ${own.filter((item) => item.shown === 0).length} of ${own.length} items never shown.`;
          }),
          report.sittings.length === 0
            ? 'There are no completed sittings.'
            : `Flags: exposure above ${share(exposureMost)}; harder or easier than calibrated (|z| > 3) and misfit only with at least ${answersLeast} answers.`,
          ...(shown.length === 0
            ? ['No item is flagged.']
            : [
                '',
                table([
                  ['item', 'shown', 'exposure', 'scored', 'right', 'expected', 'z', 'infit', 'skipped', 'flags'],
                  ...shown.map(rowOf),
                ]),
              ]),
        ].join('\n');
        return { json: { sittings: report.sittings, items: shown }, text };
      }),
  },
];
