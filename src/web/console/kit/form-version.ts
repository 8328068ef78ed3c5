import { hash } from 'node:crypto';
import type { Tx } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../../feed/position.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import type { Faults } from './form.ts';
import type { Visit } from './route.ts';
import { table } from './table.ts';

/** A short hash of the stored record. It changes if another person saves the record. */
export const versionOf = (stored: unknown): string => hash('sha256', JSON.stringify(stored), 'base64url').slice(0, 22);

/** `overtaken`: a note that another person saved the record first. */
export type FormVersion = { version: string; faults?: Faults; overtaken?: Markup };

export const sentVersion = ({ form: sent }: Visit): string => sent.raw('version');

/**
 * Saves a form if the record is still the version that the sender saw.
 * @param options.written the record after saving: if this is stored already, the form was sent twice
 * @returns null if the form is saved, otherwise the stored record
 */
export async function saveVersion<T>(
  visit: Visit,
  options: { resource: string; read(tx: Tx): Promise<T>; written: T; write(work: UnitOfWork): Promise<unknown> },
): Promise<T | null> {
  const outcome = await visit.change(
    async (work): Promise<'saved' | 'same' | { stored: T }> => {
      await lockFeed(work, visit.organisationId);
      const stored = await options.read(work.tx);
      if (versionOf(stored) !== sentVersion(visit))
        return versionOf(stored) === versionOf(options.written) ? 'same' : { stored };
      await options.write(work);
      return 'saved';
    },
    (result) => result === 'saved' && options.resource,
  );
  return typeof outcome === 'string' ? null : outcome.stored;
}

type Compared = readonly [label: string, now: string, sent: string];

export function overtakenNote(compared: readonly Compared[]): Markup {
  const rows = compared.filter(([, now, sent]) => now !== sent);
  const caption = 'Fields that differ';
  const shown = table<Compared>({ caption, none: null }, rows, {
    Setting: ([label]) => label,
    Now: ([, now]) => now,
    'Your entry': ([, , sent]) => sent,
  });
  return html`<div class="error" role="alert" aria-labelledby="overtaken" tabindex="-1"><h2 id="overtaken">Another person saved this page after you opened it</h2><p>Nothing was saved. Check your entries below. Save again to replace the current values.</p></div>${shown}`;
}
