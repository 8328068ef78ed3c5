import { Readable } from 'node:stream';
import type { Mailbox, MailServer } from '../validation/email.ts';
import type { LogFields } from '../observability/log.ts';

export type Message = {
  messageId: string;
  from: Mailbox;
  address: string;
  sentMs: number;
  subject: string;
  text: string;
  html: string;
};

/**
 * `again`: the server did not accept the message. `unknown`: the connection ended, and the server may have the message.
 */
export type Handed = { outcome: 'sent' } | { outcome: 'refused' | 'again' | 'unknown'; why: LogFields };

export type SmtpSession = {
  /** Never throws. */
  hand(message: Message): Promise<Handed>;
  isOpen(): boolean;
  close(): void;
};

const connectMs = 10_000;
const answerMs = 30_000;

/** The log gets no text of the server's response, because the text may contain an email address. */
export function smtpFields(error: unknown): LogFields {
  const { code, responseCode, command } = error as { code?: unknown; responseCode?: unknown; command?: unknown };
  const word = (value: unknown) => (typeof value === 'string' && /^[A-Z0-9_ ]{1,40}$/.test(value) ? value : undefined);
  return {
    code: word(code) ?? 'unknown',
    reply: typeof responseCode === 'number' ? responseCode : undefined,
    command: word(command),
  };
}

/** Names and email addresses are passed as objects, so that nodemailer does not parse them as headers or file names. */
async function composed({ messageId, from, address, sentMs, subject, text, html }: Message): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composer = new MailComposer({
    messageId: `<${messageId}>`,
    date: new Date(sentMs),
    from: { name: from.name, address: from.address },
    to: { name: '', address },
    subject,
    text,
    html,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

async function connectionTo(server: MailServer, name: string) {
  // The module is loaded with the first email, because most processes send none.
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
  return new SMTPConnection({
    host: server.host,
    port: server.port,
    name,
    secure: server.tls === 'always',
    requireTLS: server.tls === 'starttls',
    ignoreTLS: server.tls === 'off',
    // These options are explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 does not apply to email.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    allowInternalNetworkInterfaces: true,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: answerMs,
    socketCloseTimeout: 0,
  });
}

/**
 * @param signal aborts the opening, but does not close an open session
 * @throws Error if the server cannot be reached, is not trusted, or refuses the login
 */
export async function openSmtp(server: MailServer, name: string, signal: AbortSignal): Promise<SmtpSession> {
  const connection = await connectionTo(server, name);
  let fail: (error: Error) => void = () => {};
  // The connection also emits errors while it is idle. Without a listener, such an error would end the process.
  connection.on('error', (error: Error) => fail(error));
  connection.on('end', () => fail(Object.assign(new Error('The connection ended.'), { code: 'ECONNECTION' })));
  const cut = () => connection.close();
  signal.addEventListener('abort', cut, { once: true });
  /** Runs one step of the protocol. An error of the connection ends the step. */
  const step = <T>(start: (done: (error: Error | null | undefined, result?: T) => void) => void) =>
    new Promise<T | undefined>((resolve, reject) => {
      fail = reject;
      start((error, result) => (error === null || error === undefined ? resolve(result) : reject(error)));
    });

  try {
    if (signal.aborted) throw Object.assign(new Error('The service is stopping.'), { code: 'ABORTED' });
    await step((done) => connection.connect(done));
    const { login } = server;
    if (login !== null)
      await step((done) => connection.login({ credentials: { user: login.user, pass: login.password } }, done));
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', cut);
  }

  let isOpen = true;
  /** After a refused message, a server refuses further messages until the connection is reset. */
  const begin = async () => {
    try {
      await step((done) => connection.reset(done));
    } catch {
      isOpen = false;
      connection.close();
    }
  };

  return {
    close: cut,
    isOpen: () => isOpen,
    async hand(message) {
      let isHanding = false;
      try {
        const bytes = await composed(message);
        const body = Readable.from(bodyOf(bytes, () => void (isHanding = true)));
        await step((done) => connection.send({ from: message.from.address, to: [message.address] }, body, done));
        return { outcome: 'sent' };
      } catch (error) {
        await begin();
        return failedHand(error, isHanding);
      }
    },
  };
}

/** @param onRead called when the server has accepted the recipient; if sending fails earlier, the server has no message */
function* bodyOf(bytes: Buffer, onRead: () => void): Generator<Buffer> {
  onRead();
  yield bytes;
}

function failedHand(error: unknown, isHanding: boolean): Handed {
  const why = smtpFields(error);
  const { reply, command } = why;
  if (typeof reply !== 'number') return { outcome: isHanding ? 'unknown' : 'again', why };
  const isForGood = reply >= 500 && command !== 'MAIL FROM';
  return { outcome: isForGood ? 'refused' : 'again', why };
}
