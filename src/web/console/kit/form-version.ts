import { hash } from 'node:crypto';
import type { Tx } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../../feed/position.ts';
import type { Markup } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { table } from './blocks.ts';
import { hiddenField } from './form.ts';
import type { Acted, Visit } from './route.ts';
import type { Faults } from './form.ts';

/**
 * A form that writes every field it shows carries a mark of what was stored when it was shown. Without it, two people who
 * save different fields of one page would undo each other unseen.
 */

/** What was stored, in a few characters. */
export const markOf = (stored: unknown): string => hash('sha256', JSON.stringify(stored), 'base64url').slice(0, 22);

/** How such a form is shown: with the mark of what was stored, and again with what is wrong, or what is stored by now. */
export type Seen = { seen: string; faults?: Faults; overtaken?: Markup };

export const seenField = (mark: string): Markup => hiddenField('seen', mark);

/** The mark that a form came with: what its sender had before them. */
export const seenBy = ({ form: sent }: Visit): string => sent.raw('seen');

/**
 * Saves a form, where what is stored is still what its sender had before them.
 * @param given.written what would be stored then: what stands there already needs no saving, and a form sent twice is one
 * @returns null when it is stored, or what is stored instead of what the sender saw
 */
export function saveSeen<T>(
  visit: Visit,
  given: { resource: string; read(tx: Tx): Promise<T>; written: T; write(work: UnitOfWork): Promise<unknown> },
): Promise<T | null> {
  return visit.change(async (work): Promise<Acted<T | null>> => {
    await lockFeed(work, visit.organisationId);
    const stored = await given.read(work.tx);
    if (markOf(stored) === seenBy(visit)) {
      await given.write(work);
      return { result: null, resource: given.resource };
    }
    return { result: markOf(stored) === markOf(given.written) ? null : stored };
  });
}

type Compared = readonly [label: string, now: string, sent: string];

/** Stands above a form that wasn't saved: what is stored by now, where it differs from what was sent. */
export function overtakenNote(compared: readonly Compared[]): Markup {
  const rows = compared.filter(([, now, sent]) => now !== sent);
  return html`<div class="error" role="alert" aria-labelledby="overtaken" tabindex="-1"><h2 id="overtaken">This was changed after you opened the page</h2><p>Nothing was saved. What you entered stands below: check it, and save again to put it in the place of what is there now.</p></div>${table<Compared>(
    { caption: 'Where your entries differ from what is there now', none: null },
    rows,
    {
      Setting: ([label]) => label,
      Now: ([, now]) => now,
      'Your entry': ([, , sent]) => sent,
    },
  )}`;
}
