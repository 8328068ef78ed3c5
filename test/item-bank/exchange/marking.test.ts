import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { strToU8 } from 'fflate';
import { fromQti } from '../../../tools/item-bank/exchange/qti-package.ts';
import { correct, declared, defaults, itemOf, matchCorrect, option, options, read, refuses, xmlOf } from './foreign.ts';

suite('answers and marking of other tools', () => {
  const choice = (attributes: string, inside = options) =>
    `<qti-choice-interaction response-identifier="RESPONSE" ${attributes}>${inside}</qti-choice-interaction>`;
  const processing = (inside: string) => `<qti-response-processing>${inside}</qti-response-processing>`;
  const setScore = (value: string) =>
    `<qti-set-outcome-value identifier="SCORE"><qti-base-value base-type="float">${value}</qti-base-value></qti-set-outcome-value>`;
  const feedback =
    '<qti-set-outcome-value identifier="FEEDBACK"><qti-base-value base-type="identifier">x</qti-base-value></qti-set-outcome-value>';
  const isRight = '<qti-match><qti-variable identifier="RESPONSE"/><qti-correct identifier="RESPONSE"/></qti-match>';
  const condition = (test: string, then: string, otherwise = setScore('0')) =>
    `<qti-response-condition><qti-response-if>${test}${then}</qti-response-if><qti-response-else>${otherwise}</qti-response-else></qti-response-condition>`;

  test('right or wrong is taken, in the ways in which tools say it', () => {
    for (const end of [
      matchCorrect,
      processing(condition(isRight, setScore('1'))),
      processing(condition(isRight, setScore('2') + feedback, feedback)),
      processing(
        condition(
          isRight,
          setScore('1').replace(/<qti-base-value.*base-value>/u, '<qti-variable identifier="MAXSCORE"/>'),
        ),
      ),
    ])
      assert.equal(itemOf({ end }).key, 'b', end);
    const feedbackOnly = `<qti-response-condition><qti-response-if>${isRight}${feedback}</qti-response-if></qti-response-condition>`;
    assert.equal(itemOf({ end: processing(condition(isRight, setScore('1')) + feedbackOnly) }).key, 'b');
    const many = itemOf({
      declaration: declared(correct('a', 'b'), 'multiple'),
      answers: choice('max-choices="2"'),
      end: matchCorrect,
    });
    assert.deepEqual([many.type, many.key], ['multiple_choice', ['a', 'b']]);
    assert.deepEqual(read({ answers: choice('max-choices="1" shuffle="true"') }).notes ?? [], []);
  });

  test('anything else is refused', () => {
    const map =
      '<qti-mapping default-value="0"><qti-map-entry map-key="a" mapped-value="1"/><qti-map-entry map-key="b" mapped-value="0.5"/></qti-mapping>';
    const ends = [
      '<qti-response-processing template="https://purl.imsglobal.org/spec/qti/v3p0/rptemplates/map_response.xml"/>',
      '<qti-response-processing template="https://example.org/own.xml"/>',
      '<qti-response-processing/>',
      processing(condition(isRight, setScore('0'))),
      processing(condition(isRight, setScore('1'), setScore('0.5'))),
      processing(condition(`<qti-not>${isRight}</qti-not>`, setScore('1'))),
      processing(
        condition(
          '<qti-match><qti-variable identifier="RESPONSE"/><qti-base-value base-type="identifier">c</qti-base-value></qti-match>',
          setScore('1'),
        ),
      ),
      processing(
        '<qti-set-outcome-value identifier="SCORE"><qti-map-response identifier="RESPONSE"/></qti-set-outcome-value>',
      ),
      processing(condition(isRight, setScore('1')) + condition(isRight, setScore('2'))),
      processing(
        `<qti-response-condition><qti-response-if>${isRight}${setScore('1')}</qti-response-if><qti-response-else-if>${isRight}${setScore('0.5')}</qti-response-else-if></qti-response-condition>`,
      ),
    ];
    for (const end of ends) refuses({ end }, /not marked right or wrong/u);
    refuses({ declaration: declared(correct('b') + map) }, /part marks/u);
    refuses(
      { declaration: declared(`<qti-default-value><qti-value>a</qti-value></qti-default-value>${correct('b')}`) },
      /qti-default-value/u,
    );
    refuses({ declaration: declared('') }, /which answer is right/u);
    refuses({ declaration: declared(correct('a', 'b')) }, /several right answers/u);
    refuses({ declaration: '' }, /declare the response/u);
    refuses({ declaration: declared(correct('b'), 'single', 'pair') }, /response of single pair/u);
    refuses(
      {
        head: '<qti-outcome-declaration identifier="SCORE" cardinality="single" base-type="float" external-scored="human"/>',
      },
      /a person gives/u,
    );
    const declaration = declared(correct('a', 'b'), 'multiple');
    for (const max of ['max-choices="0"', 'max-choices="3"', ''])
      refuses({ declaration, answers: choice(max) }, /how many are right/u);
    refuses({ answers: choice('max-choices="2"') }, /max-choices="2"/u);
    refuses({ answers: choice('', `${options}${option('a', 'Five')}`) }, /two options with one identifier/u);
    refuses(
      { answers: choice('', options.replace('identifier="a"', 'identifier="a" show-hide="hide"')) },
      /show-hide/u,
    );
  });

  test('of an item as a whole, too', () => {
    refuses({ root: ' adaptive="true"' }, /adaptive/u);
    refuses({ root: ' xml:lang="de"' }, /language de/u);
    for (const name of [
      'qti-template-declaration',
      'qti-companion-materials-info',
      'qti-catalog-info',
      'qti-template-processing',
    ])
      refuses({ head: `<${name}/>` }, new RegExp(`has <${name}>`, 'u'));
    const other = '<qti-choice-interaction response-identifier="X"/>';
    refuses({ after: other }, /2 interactions/u);
    for (const name of [
      'inline-choice',
      'gap-match',
      'extended-text',
      'hotspot',
      'slider',
      'upload',
      'graphic-order',
      'associate',
      'drawing',
      'custom',
      'end-attempt',
      'position-object',
    ])
      refuses(
        { answers: `<qti-${name}-interaction response-identifier="RESPONSE"/>` },
        new RegExp(`has <qti-${name}-interaction>`, 'u'),
      );
    assert.match(
      fromQti(strToU8(xmlOf({}).replace('time-dependent="false"', 'time-dependent="true"')), defaults).rejected![0]!
        .reason,
      /how long/u,
    );
  });

  test('texts and numbers keep their rule', () => {
    const box = '<p><qti-text-entry-interaction response-identifier="RESPONSE"/></p>';
    const typed = (inside: string, end = '', type = 'string') => ({
      declaration: declared(inside, 'single', type),
      answers: box,
      end,
    });
    const mapResponse =
      '<qti-response-processing template="https://purl.imsglobal.org/spec/qti/v3p0/rptemplates/map_response"/>';
    const map = (...entries: [string, string, string?][]) =>
      `<qti-mapping>${entries.map(([key, value, more = '']) => `<qti-map-entry map-key="${key}" mapped-value="${value}" ${more}/>`).join('')}</qti-mapping>`;
    assert.deepEqual(itemOf(typed(correct('York'), matchCorrect)).key, { accept: ['York'], case_sensitive: true });
    assert.deepEqual(
      itemOf(typed(correct('York') + map(['York', '1'], ['Jorvik', '1'], ['Leeds', '0']), mapResponse)).key,
      { accept: ['York', 'Jorvik'] },
    );
    refuses(typed(correct('York') + map(['York', '1'], ['Jorvik', '0.5']), mapResponse), /part marks/u);
    refuses(typed(correct('York') + map(['York', '1'], ['Leeds', '-1']), mapResponse), /part marks/u);
    refuses(typed(correct('York') + map(['Jorvik', '1']), mapResponse), /gives no mark/u);
    refuses(
      typed(map(['York', '1', 'case-sensitive="true"'], ['york', '1', 'case-sensitive="false"']), mapResponse),
      /capitals/u,
    );
    const equal = (attributes: string) =>
      processing(
        condition(
          `<qti-equal ${attributes}><qti-variable identifier="RESPONSE"/><qti-correct identifier="RESPONSE"/></qti-equal>`,
          setScore('1'),
        ),
      );
    const number = (attributes: string) => typed(correct('2.5'), equal(attributes), 'float');
    assert.deepEqual(itemOf(number('tolerance-mode="absolute" tolerance="0.5 0.5"')).key, {
      value: '2.5',
      tolerance: '0.5',
    });
    assert.deepEqual(itemOf(number('tolerance-mode="exact"')).key, { value: '2.5' });
    for (const attributes of [
      'tolerance-mode="relative" tolerance="5 5"',
      'tolerance-mode="absolute" tolerance="0.5 1"',
      'tolerance-mode="absolute" tolerance="1" include-upper-bound="false"',
    ])
      refuses(number(attributes), /tolerance/u);
    const inBox = (attribute: string) => ({
      ...typed(correct('York')),
      answers: box.replace('/></p>', ` ${attribute}/></p>`),
    });
    for (const attribute of ['pattern-mask="[0-9]+"', 'placeholder-text="York?"', 'base="2"'])
      refuses(inBox(attribute), /which the bank can't take over/u);
  });

  test('orders and matches are whole', () => {
    const order = (attributes: string) => ({
      declaration: declared(correct('c', 'b', 'a', 'd'), 'ordered'),
      answers: `<qti-order-interaction response-identifier="RESPONSE" ${attributes}>${options}</qti-order-interaction>`,
    });
    assert.deepEqual(itemOf(order('')).key, ['c', 'b', 'a', 'd']);
    refuses(order('max-choices="2"'), /some of its options/u);
    const set = (ids: string, max: number) =>
      `<qti-simple-match-set>${ids
        .split('')
        .map(
          (id) =>
            `<qti-simple-associable-choice identifier="${id}" match-max="${max}">${id}</qti-simple-associable-choice>`,
        )
        .join('')}</qti-simple-match-set>`;
    const match = (pairs: string[], max = 1, attributes = '') => ({
      declaration: declared(correct(...pairs), 'multiple', 'directedPair'),
      answers: `<qti-match-interaction response-identifier="RESPONSE" ${attributes}>${set('abc', max)}${set('xyz', 1)}</qti-match-interaction>`,
    });
    assert.deepEqual(itemOf(match(['a x', 'b y', 'c z'])).key, { a: 'x', b: 'y', c: 'z' });
    refuses(match(['a x', 'a y', 'c z']), /one thing with several/u);
    refuses(match(['a x', 'b y', 'c z'], 2), /one thing with several/u);
    refuses(match(['a x', 'b y', 'c z'], 1, 'max-associations="2"'), /some of its things/u);
  });
});
