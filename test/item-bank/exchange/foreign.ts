import assert from 'node:assert/strict';
import { strToU8 } from 'fflate';
import { fromQti } from '../../../tools/item-bank/exchange/qti-package.ts';
import { foreignDefaults } from '../../../tools/item-bank/import.ts';

/** What other tools' files may hold: each is kept as it is, or its item is refused by name. Nothing changes in silence. */

export const defaults = foreignDefaults({ subject: 'maths', level: 'level1', domain: 'number' });
export const correct = (...values: string[]) =>
  `<qti-correct-response>${values.map((value) => `<qti-value>${value}</qti-value>`).join('')}</qti-correct-response>`;
export const option = (id: string, text: string) => `<qti-simple-choice identifier="${id}">${text}</qti-simple-choice>`;
export const options = [option('a', 'One'), option('b', 'Two'), option('c', 'Three'), option('d', 'Four')].join('');
export const declared = (inside: string, cardinality = 'single', type = 'identifier') =>
  `<qti-response-declaration identifier="RESPONSE" cardinality="${cardinality}" base-type="${type}">${inside}</qti-response-declaration>`;
export const matchCorrect =
  '<qti-response-processing template="https://purl.imsglobal.org/spec/qti/v3p0/rptemplates/match_correct.xml"/>';

type Parts = {
  root?: string;
  head?: string;
  declaration?: string;
  before?: string;
  answers?: string;
  after?: string;
  end?: string;
};

export const xmlOf = ({
  root = '',
  head = '',
  declaration,
  before = '<p>What is it?</p>',
  answers,
  after: more = '',
  end,
}: Parts) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<qti-assessment-item xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" identifier="other-1" title="Other" time-dependent="false"${root}>
${declaration ?? declared(correct('b'))}${head}
<qti-item-body>${before}${answers ?? `<qti-choice-interaction response-identifier="RESPONSE" max-choices="1">${options}</qti-choice-interaction>`}${more}</qti-item-body>${end ?? ''}</qti-assessment-item>`;

export const read = (given: Parts) => fromQti(strToU8(xmlOf(given)), defaults);
export const itemOf = (given: Parts): any => {
  const { items, rejected } = read(given);
  assert.equal(rejected, undefined, JSON.stringify(rejected));
  return items[0];
};
export const reasonOf = (given: Parts): string => {
  const { items, rejected } = read(given);
  assert.deepEqual([items, rejected?.length], [[], 1], `${xmlOf(given)} ${JSON.stringify(items)}`);
  assert.equal(rejected![0]!.id, 'other-1');
  return rejected![0]!.reason;
};
export const refuses = (given: Parts, reason: RegExp) => assert.match(reasonOf(given), reason, xmlOf(given));
