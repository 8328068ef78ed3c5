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
 * A form sends the version of the record that it showed. Without it, two people who save one page would undo each
 * other's changes.
 */

/** A short hash of the stored record. */
export const markOf = (stored: unknown): string => hash('sha256', JSON.stringify(stored), 'base64url').slice(0, 22);

/** `overtaken`: the note that another person saved first. */
export type Seen = { seen: string; faults?: Faults; overtaken?: Markup };

export const seenField = (mark: string): Markup => hiddenField('seen', mark);

/** The version that the sender of the form saw. */
export const seenBy = ({ form: sent }: Visit): string => sent.raw('seen');

/**
 * Saves a form if the record still has the version that the sender saw. @param options.written the record as the form
 * would leave it: if it is stored already, the form was sent twice @returns null if it is saved, otherwise the record
 * that is stored now
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

/** Lists the fields in which the stored record differs from what was sent. */
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
