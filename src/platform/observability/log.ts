import type { Clock } from '../time/clock.ts';
import { formatMs } from '../time/clock.ts';
import { logErrors } from './metric-definitions.ts';

/** Values that a log line may hold. Never a name, a reference, an address with a query, a body or a secret. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = {
  /** One wide line for something that went as it should. */
  info(event: string, fields?: LogFields): void;
  /** One wide line for a failure that an operator should see. */
  error(event: string, fields?: LogFields): void;
};

/** JSON lines on a stream; buffered within one turn so that a busy server writes once. */
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

/** Names of classes, codes, functions and tables. Anything longer or stranger may hold data. */
const isName = (value: unknown): value is string => typeof value === 'string' && /^[\w.]{1,63}$/.test(value);

/** Words of the database's driver, which gives these errors no code. They hold no data. */
const driverWords =
  /^(?:Connection terminated|timeout e|Client (?:has|was)|Cannot use a pool|Query read timeout)[\w ,-]*$/;

const maxCauses = 5;

/** The error and what caused it, the outermost first. */
function causesOf(error: unknown): Thrown[] {
  const chain: Thrown[] = [];
  for (let next = error; next instanceof Error && chain.length < maxCauses && !chain.includes(next);) {
    chain.push(next);
    next = next.cause ?? (next instanceof AggregateError ? next.errors[0] : undefined);
  }
  return chain;
}

/** Most classes of ours and of the driver leave the name as it was. */
function nameOf(error: Thrown): string {
  const name = error.name.toLowerCase() === 'error' ? error.constructor.name : error.name;
  return isName(name) ? name : 'Error';
}

function describe(error: Thrown): string {
  return isName(error.code) ? `${nameOf(error)} ${error.code}` : nameOf(error);
}

/** What runs statements for others: the place of interest is who asked. */
const passesOn = /\/src\/platform\/db\/(?:database|unit-of-work)\.ts:/;

/** Where the innermost cause was thrown: in our own code if the stack says so. */
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
 * What may be said of an unexpected error: classes and codes of it and its causes, names in the schema, and where it was
 * thrown. Messages can hold data and are left out.
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
