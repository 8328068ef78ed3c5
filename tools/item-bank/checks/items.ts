import { renderModel } from '../../../src/engine/item-bank/render-model.ts';
import type { Field, RenderModel } from '../../../src/engine/item-bank/render-model.ts';
import { plainText } from '../../../src/engine/item-bank/markup.ts';
import { domainsOf, shownType } from '../../../src/engine/item-bank/schema.ts';
import { targetB } from '../difficulty.ts';
import type { Domain, Item, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { drawingFaults } from './drawings.ts';
import { error, warning } from './finding.ts';
import { shapesFaults } from './shapes.ts';
import type { CheckedBank, Finding } from './finding.ts';
import { isLive } from '../../../src/engine/item-bank/load.ts';
import { isUsed } from './statements.ts';
import { equalNumbers, keyFaults } from './keys.ts';
import { fixedC } from './guessing.ts';
import { languageFindings } from './language.ts';
import type { Level, Subject } from '../../../src/engine/scoring/levels.ts';

const shortSubject: Record<Subject, string> = { digital: 'dig', english: 'eng', maths: 'mat' };
const shortLevel: Record<Level, string> = {
  entry: 'e',
  entry1: 'e1',
  entry2: 'e2',
  entry3: 'e3',
  level1: 'l1',
  level2: 'l2',
  level3: 'l3',
};
const shortDomain: Record<Domain, string> = {
  devices_information: 'dev',
  creating_editing: 'edit',
  communicating: 'comm',
  transacting: 'tran',
  safe_online: 'safe',
  reading: 'read',
  spelling: 'spell',
  punctuation: 'punct',
  grammar: 'gram',
  writing: 'write',
  number: 'num',
  measures_shape: 'meas',
  data: 'data',
};

/** The beginning that an item's id must have. */
export function idPrefix(item: Pick<Item, 'subject' | 'level' | 'domain'>): string {
  return `${shortSubject[item.subject]}-${shortLevel[item.level]}-${shortDomain[item.domain]}-`;
}

/** The range of b: the level's range and a margin. A person checks items outside this range. */
const bMargin = 0.3;
const discriminationRange = [0.9, 1.3] as const;
/** If lengths were random, the key would be the longest of four options in at most a quarter of the items. */
const longestKeyShare = 0.45;

function headFindings(item: Item, rendered: RenderedItem): Finding[] {
  const findings: Finding[] = [];
  const fault = (rule: string, message: string) => findings.push(error(rule, item.id, message));
  if (!item.id.startsWith(idPrefix(item))) fault('id', `should begin with ${idPrefix(item)}`);
  if (!(domainsOf[item.subject] as readonly string[]).includes(item.domain))
    fault('domain', `${item.domain} is not a domain of ${item.subject}`);
  if ((item.subject === 'maths') !== (item.calculator !== undefined))
    fault(
      'calculator',
      item.subject === 'maths'
        ? 'must say whether a calculator is allowed'
        : 'says something about a calculator, but is not maths',
    );
  const c = fixedC(rendered);
  const isProvisional = item.calibration === 'provisional';
  if (isProvisional && Math.abs(item.c - c) > 0.00005)
    fault('parameters', `c is ${item.c}, and must be ${c} for this item`);
  const [min, max] = targetB[item.level];
  if (item.b < min - bMargin || item.b > max + bMargin)
    findings.push(warning('parameters', item.id, `b is ${item.b}; ${item.level} aims at ${min} to ${max}`));
  if (isProvisional && (item.a < discriminationRange[0] || item.a > discriminationRange[1]))
    findings.push(
      warning('parameters', item.id, `a is ${item.a}; the provisional range is ${discriminationRange.join(' to ')}`),
    );
  if (item.type !== 'template' && rendered.type === 'single_choice') {
    const equal = equalNumbers(rendered.options);
    if (equal) findings.push(warning('keys', item.id, equal));
  }
  return findings;
}

function* fieldFaults(field: Field): Generator<string> {
  const label = plainText(field.label).trim();
  if (label === '') yield `field ${field.name} has no accessible name`;
  if (field.control !== 'text' && field.options.length === 0) yield `field ${field.name} has nothing to choose from`;
  for (const option of field.options)
    if (option.text.trim() === '') yield `an option of field ${field.name} has no accessible name`;
  if (field.control === 'text' && !field.input) yield `field ${field.name} has no input`;
}

/** Faults that would break the page that shows the item. */
export function renderingFaults(model: RenderModel): string[] {
  const faults = model.fields.flatMap((field) => [...fieldFaults(field)]);
  const names = model.fields.map((field) => field.name);
  if (names.length === 0) faults.push('has nothing to fill in');
  if (new Set(names).size < names.length) faults.push('has two fields of one name');
  if (model.type === 'task') {
    const labels = model.fields.map((field) => plainText(field.label));
    if (new Set(labels).size < labels.length) faults.push('has two fields with one label');
  }
  const { figure } = model;
  if (figure?.kind === 'table') {
    for (const row of figure.rows)
      if (row.length !== figure.header.length)
        faults.push(`the table “${figure.caption}” has ${row.length} cells under ${figure.header.length} headings`);
  }
  if (figure?.kind === 'shapes') faults.push(...shapesFaults(figure, model));
  if (figure && 'points' in figure) {
    const labels = figure.points.map((point) => point.label);
    if (new Set(labels).size < labels.length) faults.push(`the chart “${figure.caption}” has two points of one label`);
    if (figure.kind === 'pie_chart' && figure.points.some((point) => point.value <= 0))
      faults.push(`the chart “${figure.caption}” has a slice of no size`);
    if (figure.kind === 'pictogram' && !figure.per_symbol)
      faults.push(`the pictogram “${figure.caption}” does not say what a symbol stands for`);
  }
  for (const part of model.task?.screen ?? []) {
    if (part.part === 'table' && part.rows.some((row) => row.length !== part.header.length))
      faults.push(`the table “${part.caption}” has rows of another width than its heading`);
  }
  return faults;
}

function relationFindings(bank: CheckedBank): Finding[] {
  const findings: Finding[] = [];
  const items = new Map(bank.items.map((item) => [item.id, item]));
  for (const item of bank.items) {
    for (const id of item.enemies) {
      const enemy = items.get(id);
      if (id === item.id) findings.push(error('enemies', item.id, 'is its own enemy'));
      else if (!enemy) findings.push(error('enemies', item.id, `names ${id}, which does not exist`));
      else if (enemy.subject !== item.subject)
        findings.push(error('enemies', item.id, `names ${id}, which is of another subject`));
      else if (!enemy.enemies.includes(item.id))
        findings.push(error('enemies', item.id, `names ${id}, which does not name it`));
    }
  }
  const known = new Set(bank.passages.map((passage) => passage.id));
  const used = new Set<string>();
  const scored = new Set(bank.shown.flatMap(({ item, rendered }) => (isLive(item) ? (rendered.passage ?? []) : [])));
  for (const { item, rendered } of bank.shown) {
    if (rendered.passage === undefined) continue;
    used.add(rendered.passage);
    if (!known.has(rendered.passage))
      findings.push(error('passages', item.id, `is on ${rendered.passage}, which does not exist`));
    if (item.state === 'pilot' && scored.has(rendered.passage))
      findings.push(error('passages', item.id, `is on trial on ${rendered.passage}, which has live items`));
  }
  for (const passage of bank.passages)
    if (!used.has(passage.id)) findings.push(warning('passages', passage.id, 'has no items'));
  return findings;
}

/** Patterns that help a guesser: the key is always in the same place, or is always the longest option. */
function patternFindings(bank: CheckedBank): Finding[] {
  const findings: Finding[] = [];
  for (const subject of Object.keys(domainsOf) as Subject[]) {
    const choices = bank.items.flatMap((item) => {
      if (item.subject !== subject || item.type !== 'single_choice') return [];
      const at = item.options.findIndex((option) => option.id === item.key);
      if (at === -1) return [];
      const longest = item.options.every((option, i) => i === at || option.text.length < item.options[at]!.text.length);
      return [{ at, longest }];
    });
    if (choices.length < 20) continue;
    for (const at of [0, 1, 2, 3]) {
      const share = choices.filter((choice) => choice.at === at).length / choices.length;
      if (share > 0.4)
        findings.push(
          warning(
            'patterns',
            null,
            `${subject}: the key is option ${at + 1} in ${Math.round(share * 100)} % of single-choice items`,
          ),
        );
    }
    const longest = choices.filter((choice) => choice.longest).length / choices.length;
    if (longest > longestKeyShare)
      findings.push(
        warning(
          'patterns',
          null,
          `${subject}: the key is the longest option in ${Math.round(longest * 100)} % of single-choice items`,
        ),
      );
  }
  return findings;
}

/** Rules about single items and about references between items. */
export function itemFindings(bank: CheckedBank): Finding[] {
  const findings: Finding[] = [];
  for (const { item, rendered, passage } of bank.shown) {
    findings.push(...headFindings(item, rendered));
    findings.push(...keyFaults(rendered).map((fault) => error('keys', item.id, fault)));
    findings.push(...languageFindings(item.id, item));
    const model = renderModel(item, rendered, passage);
    findings.push(...renderingFaults(model).map((fault) => error('rendering', item.id, fault)));
    const { figure, fields } = model;
    const isTyped = fields.some(({ control }) => control === 'text');
    if (isUsed(item) && figure)
      findings.push(...[...drawingFaults(figure, isTyped)].map((fault) => error('charts', item.id, fault)));
    if (item.type === 'template' && rendered.type !== shownType(item))
      findings.push(
        error(
          'templates',
          item.id,
          `says that ${item.template} renders ${item.renders}, but it renders ${rendered.type}`,
        ),
      );
  }
  for (const passage of bank.passages) findings.push(...languageFindings(passage.id, passage));
  return [...findings, ...relationFindings(bank), ...patternFindings(bank)];
}
