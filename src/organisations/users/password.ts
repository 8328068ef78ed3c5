import { argon2, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { limits } from '../../platform/config/limits.ts';
import { normalised } from '../../platform/validation/personal-data.ts';
import type { Random } from '../../platform/crypto/random.ts';

/** Passwords are hashed by argon2id (RFC 9106) with 19 MiB and 2 passes, as OWASP advises. */

const derive = promisify(argon2);

const current = { memory: 19_456, passes: 2, parallelism: 1 };
const hashBytes = 32;
const saltBytes = 16;

type Parameters = typeof current & { salt: Buffer };

/**
 * Writes a hash in the PHC format, which contains the parameters, so that old hashes stay valid if the parameters
 * change.
 */
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

export class PasswordsBusy extends Error {}

/** At most two passwords are hashed at the same time, because files and DNS also need libuv's 4 threads. */
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

/** Keyboards compose letters in different ways, so passwords are normalised before hashing. */
const message = (password: string): Buffer => Buffer.from(normalised(password, 'NFKC'));

function hashed(password: string, { memory, passes, parallelism, salt }: Parameters): Promise<Buffer> {
  return inTurn(() =>
    derive('argon2id', { message: message(password), nonce: salt, memory, passes, parallelism, tagLength: hashBytes }),
  );
}

/** @param like a hash whose salt the new hash also uses, so that one computation checks a password against both */
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
 * Tests a password against each hash. Hashes with one salt need one computation, and an empty list also costs one, so
 * that the time does not reveal how many accounts an address has.
 */
export async function matching(password: string, stored: readonly (string | null)[]): Promise<boolean[]> {
  const hashes = stored.map((one) => (one === null ? null : parsed(one)));
  const computed = new Map<string, Buffer>();
  for (const one of hashes) {
    if (one === null) continue;
    const name = formatted(one.parameters, Buffer.alloc(0));
    if (!computed.has(name)) computed.set(name, await hashed(password, one.parameters));
  }
  if (computed.size === 0) await hashed(password, nobody);
  return hashes.map(
    (one) => one !== null && timingSafeEqual(computed.get(formatted(one.parameters, Buffer.alloc(0)))!, one.hash),
  );
}

let commonest: Set<string> | null = null;

/**
 * The 10,000 commonest passwords of leaked lists, from zxcvbn 4.4.2 (MIT), and the 3,500 commonest that the other rules
 * would accept, from SecLists' list of 1 million (MIT).
 */
function isCommon(text: string): boolean {
  commonest ??= new Set(
    readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return commonest.has(text);
}

const rows = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** Whether the characters follow each other on a keyboard or in the alphabet, forwards or backwards. */
const isRun = (text: string): boolean =>
  [text, [...text].reverse().join('')].some((one) => rows.some((row) => row.repeat(10).includes(one)));

/** The shortest text that gives `text` if it is repeated, such as `ab` for `ababab`. */
function unit(text: string): string {
  for (let length = 1; length <= text.length / 2; length++)
    if (text.length % length === 0 && text.slice(0, length).repeat(text.length / length) === text)
      return text.slice(0, length);
  return text;
}

/**
 * Checks the length of a new password, and refuses common passwords, even with digits and signs around them. Passwords
 * need no mixture of letters, digits and signs.
 * @param personal text that an attacker knows: the email address, names
 * @returns the fault as the end of a sentence, or null
 */
export function passwordFault(password: string, personal: readonly string[]): string | null {
  const tooLong = `must have at most ${limits.passwordMostChars} characters`;
  // A typed character has at most 4 code units before normalisation, so a longer text need not be normalised.
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
  const rest = personal
    .flatMap((one) => one.toLowerCase().split(/[^\p{L}\p{N}]+/u))
    .filter((word) => word.length > 3)
    .reduce((left, word) => left.replaceAll(word, ''), plain);
  if ([...rest.replace(/[^\p{L}\p{N}]/gu, '')].length < 6) return 'must hold more than your own name or address';
  return null;
}
