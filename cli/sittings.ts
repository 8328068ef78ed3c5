import { listOrganisations } from '../src/organisations/organisations.ts';
import type { ItemFit } from '../src/sittings/fit.ts';
import { answersLeast, exposureMost, reportFit } from '../src/sittings/fit.ts';
import type { Command } from './command.ts';
import { option, organisationOf, table, withApp } from './open.ts';

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

export const commands: Command[] = [
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
