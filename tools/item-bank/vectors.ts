import { eap, logLikelihood, map, mle, testInformation, wle } from '../../src/engine/scoring/irt.ts';
import type { ItemParameters, Prior, Response } from '../../src/engine/scoring/irt.ts';

/** A reference vector: the input, and the figures that other software computed from it. */
export type Vector = {
  id: string;
  prior: Prior;
  items: ItemParameters[];
  responses: Response[];
  expected: ExpectedFigures;
};

type Point = { theta: number | null; se: number | null; status: string | null };

/** The expected figures. Figures that the file leaves out or sets to null are not compared. */
export type ExpectedFigures = {
  eap: { theta: number; sd: number } | null;
  map: Point | null;
  mle: Point | null;
  wle: Point | null;
  thetaGrid: number[];
  info: number[] | null;
  loglik: number[] | null;
};

export const estimators = ['eap_theta', 'eap_sd', 'map', 'mle', 'wle', 'info', 'loglik'] as const;
export type Estimator = (typeof estimators)[number];

/** A vector for which only one of the two programs has a finite value. */
export type Disagreement = { id: string; estimator: Estimator; expected: string; computed: string };

/** The largest absolute differences, with their vectors. Null if no vector has the figure. */
export type Comparison = {
  count: number;
  maxAbs: Record<Estimator, number | null>;
  compared: Record<Estimator, number>;
  worst: Record<Estimator, string | null>;
  disagreements: Disagreement[];
};

/**
 * The file contains no valid reference vectors. The message names the place and the expected value, and follows a
 * colon.
 */
export class VectorFileError extends Error {}

/** Limits of an ability test. Beyond them the search for an estimate would not end. */
const ranges = {
  a: [0.01, 100],
  b: [-1000, 1000],
  mean: [-1000, 1000],
  sd: [0.01, 100],
  theta: [-1000, 1000],
} as const;

const defaultGrid = [-3, -2, -1, 0, 1, 2, 3];

/**
 * Reads the parsed JSON of a vector file.
 * @throws VectorFileError at the first fault
 */
export function parseVectors(value: unknown): Vector[] {
  if (!isRecord(value) || !Array.isArray(value.vectors))
    throw new VectorFileError('it must be an object with a list named "vectors".');
  if (value.vectors.length === 0) throw new VectorFileError('the list "vectors" is empty.');
  return value.vectors.map((vector, i) => parseVector(vector, `vectors[${i}]`));
}

function parseVector(value: unknown, at: string): Vector {
  if (!isRecord(value)) throw new VectorFileError(`${at} must be an object.`);
  const name = typeof value.id === 'string' ? value.id : at;
  const { prior, items, responses, expected } = value;
  if (!isRecord(prior)) throw new VectorFileError(`${name}: "prior" must be an object with "mean" and "sd".`);
  if (!Array.isArray(items)) throw new VectorFileError(`${name}: "items" must be a list.`);
  if (!Array.isArray(responses) || responses.length !== items.length) {
    throw new VectorFileError(`${name}: "responses" must be a list as long as "items" (${items.length}).`);
  }
  const wrong = responses.findIndex((r) => r !== 0 && r !== 1 && r !== null);
  if (wrong >= 0) throw new VectorFileError(`${name}: responses[${wrong}] must be 1, 0 or null.`);
  if (!isRecord(expected)) throw new VectorFileError(`${name}: "expected" must be an object.`);
  return {
    id: name,
    prior: { mean: withinRange(prior, 'mean', `${name}: prior`), sd: withinRange(prior, 'sd', `${name}: prior`) },
    items: items.map((item, i) => parseItem(item, `${name}: items[${i}]`)),
    responses: responses as Response[],
    expected: parseExpected(expected, name),
  };
}

function parseItem(value: unknown, at: string): ItemParameters {
  if (!isRecord(value)) throw new VectorFileError(`${at} must be an object with "a", "b" and "c".`);
  const item = {
    a: withinRange(value, 'a', at),
    b: withinRange(value, 'b', at),
    c: value.c === undefined ? 0 : numberIn(value, 'c', at),
  };
  if (item.c < 0 || item.c >= 1) throw new VectorFileError(`${at}: c must be from 0 to below 1.`);
  return item;
}

function parseExpected(value: Record<string, unknown>, name: string): ExpectedFigures {
  const thetaGrid = numbersIn(value, 'theta_grid', name) ?? defaultGrid;
  for (const theta of thetaGrid) withinRange({ theta }, 'theta', `${name}: expected.theta_grid`);
  const curve = (key: string): number[] | null => {
    const list = numbersIn(value, key, name);
    if (list && list.length !== thetaGrid.length)
      throw new VectorFileError(`${name}: expected.${key} must have ${thetaGrid.length} values.`);
    return list;
  };
  const eapFigures = value.eap;
  let eapExpected: ExpectedFigures['eap'] = null;
  if (isRecord(eapFigures)) {
    eapExpected = {
      theta: numberIn(eapFigures, 'theta', `${name}: expected.eap`),
      sd: numberIn(eapFigures, 'sd', `${name}: expected.eap`),
    };
  } else if (eapFigures !== undefined && eapFigures !== null)
    throw new VectorFileError(`${name}: expected.eap must be an object or null.`);
  const figures = {
    eap: eapExpected,
    map: parsePoint(value.map, `${name}: expected.map`),
    mle: parsePoint(value.mle, `${name}: expected.mle`),
    wle: parsePoint(value.wle, `${name}: expected.wle`),
    info: curve('info'),
    loglik: curve('loglik'),
  };
  if (Object.values(figures).every((part) => part === null)) {
    throw new VectorFileError(
      `${name}: "expected" must hold at least one of "eap", "map", "mle", "wle", "info" and "loglik".`,
    );
  }
  return { ...figures, thetaGrid };
}

function parsePoint(value: unknown, at: string): Point | null {
  if (value === undefined || value === null) return null;
  if (!isRecord(value)) throw new VectorFileError(`${at} must be an object or null.`);
  const optional = (key: string) => (value[key] === undefined || value[key] === null ? null : numberIn(value, key, at));
  return {
    theta: optional('theta'),
    se: optional('se'),
    status: typeof value.status === 'string' ? value.status : null,
  };
}

function numbersIn(record: Record<string, unknown>, key: string, name: string): number[] | null {
  const list = record[key];
  if (list === undefined || list === null) return null;
  if (!Array.isArray(list) || !list.every((x) => typeof x === 'number' && Number.isFinite(x))) {
    throw new VectorFileError(`${name}: expected.${key} must be a list of numbers.`);
  }
  return list as number[];
}

function numberIn(record: Record<string, unknown>, key: string, at: string): number {
  const value = record[key];
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new VectorFileError(`${at}: "${key}" must be a number.`);
  return value;
}

function withinRange(record: Record<string, unknown>, key: keyof typeof ranges, at: string): number {
  const value = numberIn(record, key, at);
  const [min, max] = ranges[key];
  if (value < min || value > max) throw new VectorFileError(`${at}: ${key} must be from ${min} to ${max}.`);
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Computes every vector and keeps the largest absolute difference of each estimator. */
export function compareVectors(vectors: readonly Vector[]): Comparison {
  const empty = <T>(value: T) => Object.fromEntries(estimators.map((e) => [e, value])) as Record<Estimator, T>;
  const result: Comparison = {
    count: vectors.length,
    maxAbs: empty<number | null>(null),
    compared: empty(0),
    worst: empty<string | null>(null),
    disagreements: [],
  };
  for (const { id, prior, items, responses, expected } of vectors) {
    const note = (estimator: Estimator, computed: number, reference: number | null) => {
      if (reference === null) return;
      const difference = Math.abs(computed - reference);
      result.compared[estimator]++;
      if (!Number.isFinite(difference)) {
        result.disagreements.push({ id, estimator, expected: String(reference), computed: String(computed) });
        return;
      }
      if (difference > (result.maxAbs[estimator] ?? -1)) {
        result.maxAbs[estimator] = difference;
        result.worst[estimator] = id;
      }
    };
    if (expected.eap) {
      const own = eap(items, responses, prior);
      note('eap_theta', own.theta, expected.eap.theta);
      note('eap_sd', own.sd, expected.eap.sd);
    }
    if (expected.map) {
      const own = map(items, responses, prior);
      note('map', own.theta, expected.map.theta);
      note('map', own.se, expected.map.se);
    }
    for (const [estimator, own] of [
      ['mle', mle(items, responses)],
      ['wle', wle(items, responses)],
    ] as const) {
      const reference = expected[estimator];
      if (!reference) continue;
      if (own.theta !== null && reference.theta !== null) {
        note(estimator, own.theta, reference.theta);
        note(estimator, own.se, reference.se);
      } else if (
        (own.theta === null) !== (reference.theta === null) ||
        (reference.status !== null && reference.status !== own.status)
      ) {
        result.disagreements.push({ id, estimator, expected: reference.status ?? 'a value', computed: own.status });
      }
    }
    expected.thetaGrid.forEach((theta, k) => {
      if (expected.info) note('info', testInformation(items, responses, theta), expected.info[k]!);
      if (expected.loglik) note('loglik', logLikelihood(items, responses, theta), expected.loglik[k]!);
    });
  }
  return result;
}
