import { type Clock, formatMs } from '../time/clock.ts';
import { logErrors } from './metric-definitions.ts';

/** A log line must never contain a name, a reference, a URL with a query, a body or a secret. */
export type LogFields = Record<string, string | number | boolean | null | undefined> & {
  /** The public ID: operators do not know the internal number. */
  organisation_id?: string | null;
  organisation?: string | null;
};

export type Log = {
  info(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
};

/** Writes JSON lines. The lines of one turn of the event loop are written with one call. */
export function streamLog(
  clock: Clock,
  level: 'all' | 'errors' | 'none',
  stream: { write(text: string): unknown },
): Log {
  let waiting = '';
  const put = (event: string, fields: LogFields | undefined) => {
    if (waiting === '')
      setImmediate(() => {
        const text = waiting;
        waiting = '';
        stream.write(text);
      });
    waiting += JSON.stringify({ at: formatMs(clock.nowMs()), event, ...fields }) + '\n';
  };
  return {
    info: (event, fields) => {
      if (level === 'all') put(event, fields);
    },
    error: (event, fields) => {
      logErrors.count(event);
      if (level !== 'none') put(event, fields);
    },
  };
}

type Thrown = Error & { code?: unknown; syscall?: unknown; routine?: unknown; table?: unknown; constraint?: unknown };

/** Accepts names of classes, codes, functions and tables. The log omits other text, which may be personal data. */
const isName = (value: unknown): value is string => typeof value === 'string' && /^[\w.]{1,63}$/.test(value);

/** Matches the driver's messages for errors without a code. They contain no personal data, so the log may show them. */
const driverWords =
  /^(?:Connection terminated|timeout e|Client (?:has|was)|Cannot use a pool|Query read timeout)[\w ,-]*$/;

const maxCauses = 5;

function causesOf(error: unknown): Thrown[] {
  const chain: Thrown[] = [];
  for (let next = error; next instanceof Error && chain.length < maxCauses && !chain.includes(next);) {
    chain.push(next);
    next = next.cause ?? (next instanceof AggregateError ? next.errors[0] : undefined);
  }
  return chain;
}

/** Most error classes do not set `name`, so the name of the constructor is used. */
function nameOf(error: Thrown): string {
  const name = error.name.toLowerCase() === 'error' ? error.constructor.name : error.name;
  return isName(name) ? name : 'Error';
}

function describe(error: Thrown): string {
  return isName(error.code) ? `${nameOf(error)} ${error.code}` : nameOf(error);
}

/** These files run statements for other code, so the log shows the place of the caller instead. */
const passesOn = /\/src\/platform\/db\/(?:database|unit-of-work)\.ts:/;

/** The file and line that threw the innermost cause, in our own code if possible. */
function placeOf(chain: Thrown[]): string | undefined {
  const frames = chain
    .toReversed()
    .flatMap(({ stack = '' }) => [...stack.matchAll(/\n[^\S\n]+at (?:.*\()?(?:file:\/\/)?([^()\n]+:\d+:\d+)/g)])
    .map(([, place]) => place!);
  const own = frames.filter((place) => !place.startsWith('node:') && !place.includes('/node_modules/'));
  const found = own.find((place) => !passesOn.test(place)) ?? own[0] ?? frames[0];
  return found?.replace(/^.*\/(?=(?:src|cli|test)\/)/, '');
}

/**
 * Describes an error and its causes by classes, codes, schema names and a place. Messages are omitted, because they may
 * contain personal data.
 */
export function errorFields(error: unknown): LogFields {
  const chain = causesOf(error);
  const [outermost, ...causes] = chain;
  if (outermost === undefined) return { error: typeof error };
  const first = (name: keyof Thrown) => chain.map((one) => one[name]).find(isName);
  return {
    error: nameOf(outermost),
    code: first('code'),
    cause: causes.length === 0 ? undefined : causes.map(describe).join(', '),
    reason: chain.map(({ message }) => message).find((message) => driverWords.test(message)),
    syscall: first('syscall'),
    routine: first('routine'),
    table: first('table'),
    constraint: first('constraint'),
    where: placeOf(chain),
  };
}
