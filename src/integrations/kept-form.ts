import type { SessionOwner } from '../organisations/users/sessions.ts';
import type { App } from '../platform/app.ts';

/** The fields of a form that was open when a session ended, sealed for the same person. */
export type KeptForm = SessionOwner & {
  /** The page that shows the form: the URL pattern, and the path with its parameters. */
  pattern: string;
  path: string;
  params: Record<string, string>;
  query: string;
  isOwn: boolean;
  fields: [string, string][];
};

const keptMs = 3600_000;

export function sealKept({ secrets, random, clock }: App, kept: KeptForm): string {
  const text = JSON.stringify({ ...kept, untilMs: clock.nowMs() + keptMs });
  return secrets.seal('form', text, random).toString('base64url');
}

/** @returns null if the form was changed, or sealed more than an hour ago */
export function readKept({ secrets, clock }: App, sealed: string): KeptForm | null {
  const text = secrets.open('form', Buffer.from(sealed, 'base64url'));
  const kept = text === null ? null : (JSON.parse(text) as KeptForm & { untilMs: number });
  return kept === null || kept.untilMs < clock.nowMs() ? null : kept;
}
