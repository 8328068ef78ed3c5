import { argon2, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { limits } from '../../platform/config/limits.ts';
import { normalised } from '../../platform/validation/normalised.ts';
import type { Random } from '../../platform/crypto/random.ts';

/** Passwords: argon2id (RFC 9106) with 19 MiB and two passes, as OWASP advises. */

const derive = promisify(argon2);

const current = { memory: 19_456, passes: 2, parallelism: 1 };
const hashBytes = 32;
const saltBytes = 16;

type Parameters = typeof current & { salt: Buffer };

/** In PHC's form, so that old hashes keep their own parameters. */
function formatted({ memory, passes, parallelism, salt }: Parameters, hash: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt.toString('base64url')}$${hash.toString('base64url')}`;
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/;

function parsed(stored: string): { parameters: Parameters; hash: Buffer } {
  const [, memory, passes, parallelism, salt, hash] = form.exec(stored)!;
  return {
    parameters: {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      salt: Buffer.from(salt!, 'base64url'),
    },
    hash: Buffer.from(hash!, 'base64url'),
  };
}

/** Too many wait for their password to be checked. */
export class PasswordsBusy extends Error {}

/** libuv has four threads, which files and names need, too. */
const maxAtOnce = 2;
const maxWaiting = 100;
let underWay = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (underWay < maxAtOnce) underWay++;
  else if (waiting.length < maxWaiting) await new Promise<void>((resolve) => waiting.push(resolve));
  else throw new PasswordsBusy('Too many people sign in at this moment.');
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) underWay--;
    else next();
  }
}

/** One password looks the same however a keyboard composes its letters. */
const message = (password: string): Buffer => Buffer.from(normalised(password, 'NFKC'));

function hashed(password: string, { memory, passes, parallelism, salt }: Parameters): Promise<Buffer> {
  return inTurn(() =>
    derive('argon2id', { message: message(password), nonce: salt, memory, passes, parallelism, tagLength: hashBytes }),
  );
}

/** @param like a hash whose salt is shared, so that one computation checks a password against both */
export async function hashPassword(password: string, random: Random, like?: string | null): Promise<string> {
  const shared = like === undefined || like === null ? null : parsed(like).parameters;
  const parameters =
    shared !== null && shared.memory === current.memory && shared.passes === current.passes
      ? shared
      : { ...current, salt: random.bytes(saltBytes) };
  return formatted(parameters, await hashed(password, parameters));
}

const nobody: Parameters = { ...current, salt: Buffer.alloc(saltBytes) };

/**
 * Which of several hashes are the password's. It takes as long for none of them as for one, and for several that share
 * a salt, so that time doesn't tell how many accounts an address has.
 */
export async function matching(password: string, stored: readonly (string | null)[]): Promise<boolean[]> {
  const known = stored.map((one) => (one === null ? null : parsed(one)));
  const computed = new Map<string, Buffer>();
  for (const one of known) {
    if (one === null) continue;
    const name = formatted(one.parameters, Buffer.alloc(0));
    if (!computed.has(name)) computed.set(name, await hashed(password, one.parameters));
  }
  if (computed.size === 0) await hashed(password, nobody);
  return known.map(
    (one) => one !== null && timingSafeEqual(computed.get(formatted(one.parameters, Buffer.alloc(0)))!, one.hash),
  );
}

let commonest: Set<string> | null = null;

/** The 10,000 commonest passwords of leaked lists, from zxcvbn 4.4.2 (MIT). */
function isCommon(text: string): boolean {
  commonest ??= new Set(
    readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return commonest.has(text);
}

const rows = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** Neighbours on a keyboard or in the alphabet, forwards or backwards. */
const isRun = (text: string): boolean =>
  [text, [...text].reverse().join('')].some((one) => rows.some((row) => row.repeat(10).includes(one)));

/** The shortest text that, repeated, makes this one. */
function unit(text: string): string {
  for (let length = 1; length <= text.length / 2; length++)
    if (text.length % length === 0 && text.slice(0, length).repeat(text.length / length) === text)
      return text.slice(0, length);
  return text;
}

/**
 * What is wrong with a new password, as the end of a sentence; null when nothing is. No rules of composition: length,
 * and nothing that stands on top of every attacker's list, with digits and signs around it or not.
 * @param known what an attacker knows: the e-mail address, names
 */
export function passwordFault(password: string, known: readonly string[]): string | null {
  const tooLong = `must have at most ${limits.passwordMostChars} characters`;
  // No character of a keyboard has more than four code units before it is composed.
  if (password.length > 4 * limits.passwordMostChars) return tooLong;
  const text = normalised(password, 'NFKC');
  const chars = [...text].length;
  if (chars < limits.passwordLeastChars) return `must have at least ${limits.passwordLeastChars} characters`;
  if (chars > limits.passwordMostChars) return tooLong;
  const plain = text.toLowerCase();
  const core = plain.replace(/^[^\p{L}]+|(?<![^\p{L}])[^\p{L}]+$/gu, '');
  const shortest = [unit(plain), core === '' ? plain : unit(core)];
  if (shortest.some((one) => one.length <= 2 || isCommon(one)) || isCommon(plain) || isCommon(core) || isRun(plain))
    return 'is one of those that are guessed first: choose another, such as several words';
  const rest = known
    .flatMap((one) => one.toLowerCase().split(/[^\p{L}\p{N}]+/u))
    .filter((word) => word.length > 3)
    .reduce((left, word) => left.replaceAll(word, ''), plain);
  if ([...rest.replace(/[^\p{L}\p{N}]/gu, '')].length < 6) return 'must hold more than your own name or address';
  return null;
}
