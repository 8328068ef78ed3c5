import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { SMTPServer } from 'smtp-server';

/** A real mail server in this process, which keeps what it takes. */

export type Received = { from: string; to: string[]; raw: string; secure: boolean; user: string | null };

export type MailServer = {
  /** For ARS_SMTP_URL. */
  url: string;
  received: Received[];
  /** How it answers from now on. */
  behave(behaviour: Behaviour): void;
  /** Sessions that were opened. */
  readonly sessions: number;
  close(): Promise<void>;
};

/** What it does with the next messages; `cut_…` ends the connection without a word, `…_bad` is for addresses that begin so. */
export type Behaviour =
  | 'take'
  | 'refuse_bad'
  | 'cut_bad'
  | 'refuse_recipient'
  | 'busy'
  | 'cut_before_data'
  | 'cut_after_data'
  | 'refuse_sender'
  | 'silent';

const pem = readFileSync(new URL('../../integrations/webhooks/tls/localhost.pem', import.meta.url), 'utf8');

const failure = (responseCode: number) => Object.assign(new Error('ana@college.example is no good'), { responseCode });

export async function startMailServer(
  given: {
    tls?: 'always' | 'starttls' | 'off';
    login?: { user: string; password: string };
    port?: number;
    pipelining?: boolean;
  } = {},
): Promise<MailServer> {
  const { tls = 'starttls', login, pipelining = true } = given;
  const received: Received[] = [];
  let behaviour: Behaviour = 'take';
  let sessions = 0;
  const cut = (id: string) => {
    for (const one of server.connections)
      if (one.id === id) (one as unknown as { _socket: { destroy(): void } })._socket.destroy();
  };
  const server = new SMTPServer({
    secure: tls === 'always',
    key: pem,
    cert: pem,
    disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(login === undefined ? ['AUTH'] : [])],
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    hidePIPELINING: !pipelining,
    onConnect(_session, done) {
      sessions++;
      if (behaviour !== 'silent') done();
    },
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.password) done(null, { user: username });
      else done(failure(535));
    },
    onMailFrom(_address, _session, done) {
      done(behaviour === 'refuse_sender' ? failure(553) : null);
    },
    onRcptTo({ address }, session, done) {
      const isBad = address.startsWith('bad');
      if (behaviour === 'cut_before_data' || (behaviour === 'cut_bad' && isBad)) cut(session.id);
      else if (behaviour === 'refuse_bad') done(isBad ? failure(550) : null);
      else done(behaviour === 'refuse_recipient' ? failure(550) : behaviour === 'busy' ? failure(451) : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom!.address,
          to: rcptTo.map((one) => one.address),
          raw: Buffer.concat(chunks).toString('utf8'),
          secure: session.secure === true,
          user: (session.user as string | undefined) ?? null,
        });
        if (behaviour === 'cut_after_data') cut(session.id);
        else done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(given.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  const close = () =>
    new Promise<void>((resolve) => {
      for (const one of server.connections) cut(one.id);
      server.close(() => resolve());
    });
  after(close);
  const who = login === undefined ? '' : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  return {
    url: `${tls === 'always' ? 'smtps' : 'smtp'}://${who}localhost:${port}${tls === 'off' ? '?starttls=off' : ''}`,
    received,
    behave(next) {
      behaviour = next;
    },
    get sessions() {
      return sessions;
    },
    close,
  };
}

export type Read = { headers: Record<string, string>; text: string; html: string };

/** A message as a mail program reads it. */
export function readMessage(raw: string): Read {
  const [head, ...rest] = raw.split('\r\n\r\n');
  const headers = headersOf(head!);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')![1]!;
  const parts = rest.join('\r\n\r\n').split(`--${boundary}`).slice(1, -1);
  const bodyOf = (type: string) => {
    const part = parts.find((one) => headersOf(one.split('\r\n\r\n')[0]!)['content-type']!.startsWith(type))!;
    const [partHead, ...body] = part.split('\r\n\r\n');
    const text = body.join('\r\n\r\n');
    if (headersOf(partHead!)['content-transfer-encoding'] !== 'quoted-printable') return text;
    const bytes = text
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  };
  return { headers, text: bodyOf('text/plain'), html: bodyOf('text/html') };
}

function headersOf(head: string): Record<string, string> {
  const lines = head
    .trim()
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}
