import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { ListedMail, MailPlace } from '../../../platform/mail/outbox.ts';
import { listMails } from '../../../platform/mail/outbox.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { instant, pager, table, numeric, pageOf } from '../kit/blocks.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get } from '../kit/route.ts';

export const mailRoutes: ConsoleRoute[] = [get('/mails', managers, mails)];

/** By the first word of an email's cause. */
const kinds: Record<string, string> = {
  invitation: 'An invitation of a colleague',
  key_link: 'A set-up link for a vendor',
  key_made: 'A key was made',
  key_rolled: 'A key was rolled',
  key_ending: 'A key ends soon',
  endpoint_failing: 'A webhook endpoint has begun to fail',
  endpoint_recovered: 'A webhook endpoint has recovered',
  endpoint_disabled: 'A webhook endpoint was disabled',
};

const states: Record<ListedMail['status'], string> = {
  waiting: 'Waits',
  sending: 'On its way',
  sent: 'Taken by the mail server',
  refused: 'Refused by the mail server',
  expired: 'Given up: the mail server could not be reached in time',
  unknown: 'Not known: the connection ended before the mail server had said whether it took it',
};

/** A page token: `MILLISECONDS_ID`. */
function readPlace(text: string): MailPlace | null {
  const [, ms = '', mailId = ''] = /^(\d{1,15})_([0-9a-f-]{36})$/.exec(text) ?? [];
  return isUuid(mailId) ? { createdAt: new Date(Number(ms)), mailId } : null;
}

async function mails(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, query } = visit;
  const at = { after: readPlace(query.get('after') ?? ''), limit: limits.consoleRows + 1 };
  const { rows, last } = pageOf(await listMails(app.db, organisationId, at));
  return {
    title: 'Mails',
    back: { to: `${base}/settings`, label: 'Settings' },
    main: html`<p>What was mailed for this organisation in the last ${limits.mailKeptMs / 86_400_000} days. To whom a mail went and what it said is forgotten once it has gone.</p>${
      app.settings.mailServer === null &&
      html`<p>No mail server is set: nothing is mailed, and every link is copied by hand.</p>`
    }${table<ListedMail>({ caption: 'Mails, the newest first', none: 'Nothing was mailed.' }, rows, {
      Written: (row) => instant(row.created_at, zone),
      'What of': (row) => kinds[row.cause.split(' ')[0]!] ?? 'A notice',
      State: (row) => states[row.status],
      Tried: numeric((row) => row.attempts),
      'Next or last': (row) => {
        const at = row.finished_at ?? row.next_attempt_at;
        return at === null ? null : instant(at, zone);
      },
    })}${pager(visit, last && `${last.created_at.getTime()}_${last.mail_id}`)}`,
  };
}
