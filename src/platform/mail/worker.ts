import type { App } from '../app.ts';
import { DatabaseUnavailable } from '../db/connection/unavailable.ts';
import { type UnitOfWork, withUnitOfWork } from '../db/unit-of-work.ts';
import { errorFields } from '../observability/log.ts';
import { mailAttempts } from '../observability/metric-definitions.ts';
import { letterHtml, letterText } from './template.ts';
import { endOverdue, type HeldMail, longestWaitMs, mailsHeldBy } from './outbox.ts';
import { type Message, openSmtp, smtpFields, type SmtpSession } from './smtp.ts';

/** An email may be a few seconds late, so workers poll the outbox. */
const everyMs = 5_000;
/** The duration of a worker's lease on its emails, which must be longer than a round with the slowest server. */
const holdMs = 10 * 60_000;
const maxHeld = 10;
/** If the server ends the connection, the remaining emails use a new one, up to this many connections. */
const maxSessions = 3;
/** The longest time that `stop` waits for the email that is being sent. */
const stopWithinMs = 2_000;

const minuteMs = 60_000;
const waitsMs = [0.5, 2, 10, 30, 60, 120].map((minutes) => minutes * minuteMs);

export type Mailer = {
  /** Sends all due emails. Rounds do not overlap. */
  round(): Promise<void>;
  stop(): Promise<void>;
};

/** Ends overdue emails. This runs also without a mail server, because the operator may have removed the setting. */
export async function giveUpMails(app: App): Promise<void> {
  const { lost, expired } = await endOverdue(app.db, app.clock.nowMs());
  if (lost > 0 || expired > 0) app.log.error('mail.given_up', { lost, expired });
}

/**
 * Sends the emails in the outbox. Several workers can send at the same time.
 * @param gather functions that queue emails which no request causes, such as warnings about expiring keys
 */
export function startMailer(app: App, gather: ((work: UnitOfWork) => Promise<void>)[] = []): Mailer {
  const { mailServer } = app.settings;
  if (mailServer === null) return { round: async () => {}, stop: async () => {} };
  const outbox = mailsHeldBy(app.random.uuid(), app.db, app.clock);
  const stopping = new AbortController();
  const breakOff = new AbortController();
  const signals = { stopping: stopping.signal, breakOff: breakOff.signal };
  const failed = (error: unknown) => {
    if (!(error instanceof DatabaseUnavailable)) app.log.error('mail.failed', errorFields(error));
  };
  let last = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;

  async function look(): Promise<void> {
    if (app.restored.pending) return;
    for (const step of gather) await withUnitOfWork(app, null, step).catch(failed);
    await giveUpMails(app);
    while (!stopping.signal.aborted && !app.restored.pending) {
      const held = await outbox.take(holdMs, maxHeld);
      if (held.length === 0 || !(await sendHeld(app, outbox, held, signals))) return;
    }
  }

  const round = (): Promise<void> => {
    last = last.then(look).catch(failed);
    return last;
  };
  const wait = () => {
    timer = setTimeout(() => void round().then(wait), everyMs);
    timer.unref();
  };
  void round().then(() => {
    if (!stopping.signal.aborted) wait();
  });
  return {
    round,
    async stop() {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      const cut = setTimeout(() => breakOff.abort(), stopWithinMs);
      await last;
      clearTimeout(cut);
      if (timer !== null) clearTimeout(timer);
    },
  };
}

type Outbox = ReturnType<typeof mailsHeldBy>;

/** @returns false if the mail server cannot be reached; other due emails then wait for the next round */
async function sendHeld(
  app: App,
  outbox: Outbox,
  held: HeldMail[],
  { stopping, breakOff }: { stopping: AbortSignal; breakOff: AbortSignal },
): Promise<boolean> {
  let session: SmtpSession | null = null;
  const end = () => {
    if (session !== null) breakOff.removeEventListener('abort', session.close);
    session?.close();
    session = null;
  };
  const left = [...held];
  try {
    for (let sessions = 0; left.length > 0 && sessions < maxSessions; sessions++) {
      session = await openSmtp(app.settings.mailServer!, domainOf(app), stopping);
      breakOff.addEventListener('abort', session.close, { once: true });
      while (left.length > 0 && session.isOpen()) {
        const mail = left.shift()!;
        if (stopping.aborted) await outbox.putOff(mail.mail_id, 0);
        else await sendOne(app, outbox, session, mail);
      }
      end();
    }
    for (const mail of left) await outbox.putOff(mail.mail_id, waitOf(app, mail));
    return true;
  } catch (error) {
    if (session !== null) throw error;
    if (!stopping.aborted) app.log.error('mail.server_unreachable', smtpFields(error));
    for (const mail of left) await outbox.putOff(mail.mail_id, waitOf(app, mail));
    return false;
  } finally {
    end();
  }
}

async function sendOne(app: App, outbox: Outbox, session: SmtpSession, mail: HeldMail): Promise<void> {
  const { mail_id: mailId } = mail;
  const message = messageOf(app, mail);
  if (!(await outbox.begin(mailId))) return;
  // The message is null if the service no longer has the secret that sealed the email. Such an email can never be sent.
  const handed =
    message === null ? ({ outcome: 'refused', why: { code: 'UNREADABLE' } } as const) : await session.hand(message);
  if (handed.outcome === 'again') await outbox.putOff(mailId, waitOf(app, mail));
  else await outbox.finish(mailId, handed.outcome);
  const fields = {
    mail: mailId,
    kind: mail.cause.split(' ')[0]!,
    attempt: mail.attempts + 1,
    outcome: handed.outcome,
  };
  mailAttempts.count(handed.outcome);
  if (handed.outcome === 'sent') app.log.info('mail.attempt', fields);
  else app.log.error('mail.attempt', { ...fields, ...handed.why });
}

const domainOf = ({ settings }: App): string => settings.mailFrom!.address.split('@')[1]!;

function waitOf(app: App, mail: HeldMail): number {
  const ageMs = app.clock.nowMs() - mail.created_at.getTime();
  const waitMs = waitsMs.find((one) => ageMs < 2 * one) ?? longestWaitMs;
  return Math.round(waitMs * (0.85 + 0.3 * app.random.float()));
}

function messageOf(app: App, mail: HeldMail): Message | null {
  const text = app.secrets.open('mail', mail.sealed);
  if (text === null) return null;
  const { address, ...letter } = JSON.parse(text);
  const { baseUrl, mailFrom } = app.settings;
  return {
    // The ID is the same in every attempt, so a mail program shows the email once.
    messageId: `${mail.mail_id}@${domainOf(app)}`,
    from: mailFrom!,
    address,
    sentMs: app.clock.nowMs(),
    subject: letter.subject,
    text: letterText(letter, baseUrl),
    html: letterHtml(letter, baseUrl),
  };
}
