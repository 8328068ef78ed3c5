import type { Hold } from '../../../governance/legal-holds/holds.ts';
import { findHold, listHolds, placeHold, releaseHold } from '../../../governance/legal-holds/holds.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from '../../../platform/validation/personal-data.ts';
import { managers, auditReaders } from '../../../organisations/users/roles.ts';
import { actorNames } from '../kit/actors.ts';
import { confirmPage, day, moment, notice, table, readCount, pageOf, pager } from '../kit/blocks.ts';
import { learnerOf } from '../learners/erasure.ts';
import type { Faults } from '../kit/form.ts';
import { fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, formRoutes, onceOf, named, ifDone } from '../kit/route.ts';
import { lastInstantOf } from '../../../organisations/zone.ts';

/** A legal hold keeps a learner's data, or all data, from being deleted. */

const path = '/data-protection/holds';

export const holdRoutes: ConsoleRoute[] = [
  get(path, auditReaders, holds),
  ...formRoutes(
    `${path}/create`,
    managers,
    (visit) => createPage(visit, null),
    (visit) => create(visit, null),
    { proof: true },
  ),
  ...formRoutes(
    '/learners/{learner_id}/hold',
    managers,
    async (visit) => createPage(visit, (await learnerOf(visit)).learner_id),
    async (visit) => create(visit, (await learnerOf(visit)).learner_id),
    { proof: true },
  ),
  ...formRoutes(`${path}/{hold_id}/release`, managers, showRelease, release, { proof: true }),
];

function stateOf(one: Hold, nowMs: number, zone: string): Content {
  if (one.released_at !== null) return html`Released ${day(one.released_at, zone)}`;
  if (one.ends_at === null) return 'In force';
  return one.ends_at.getTime() <= nowMs
    ? html`Ended ${day(one.ends_at, zone)}`
    : html`Until ${moment(one.ends_at, zone)}`;
}

const isInForce = (one: Hold, nowMs: number): boolean =>
  one.released_at === null && (one.ends_at === null || one.ends_at.getTime() > nowMs);

const onWhom = (base: string, one: Hold): Content =>
  one.learner_id === null
    ? 'The whole organisation'
    : html`<a href="${base}/learners/${one.learner_id}"><code>${one.learner_id}</code></a>`;

async function holds(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const from = readCount(query, 'from');
  const nowMs = app.clock.nowMs();
  const [found, by] = await Promise.all([
    listHolds(app.db, id, { from, limit: limits.consoleRows + 1, now: new Date(nowMs) }),
    actorNames(visit),
  ]);
  const { rows, last } = pageOf(found);
  return {
    title: 'Legal holds',
    back: { to: `${base}/data-protection`, label: 'Data protection' },
    main: html`${notice(query, { placed: 'The hold is in force.', released: 'The hold is released.' })}<p>Whoever is under a hold can’t be erased, their results can’t be withdrawn, and retention leaves them alone. A hold on one learner is placed from the learner’s page.</p>${managers.includes(role) ? html`<div class="actions"><a class="button" href="${base}${path}/create">Hold the whole organisation</a></div>` : null}${table<Hold>(
      { caption: 'Those in force first', none: 'There is no hold.' },
      rows,
      {
        On: (one) => onWhom(base, one),
        State: (one) => stateOf(one, nowMs, zone),
        Reason: (one) => one.reason,
        Placed: (one) => html`${day(one.placed_at, zone)} by ${by(one.placed_by)}`,
        Release: (one) =>
          isInForce(one, nowMs) && managers.includes(role)
            ? html`<a href="${base}${path}/${one.hold_id}/release">Release<span class="unseen"> the hold of ${day(one.placed_at, zone)}</span></a>`
            : null,
      },
    )}${pager(visit, last && String(from + rows.length), 'from')}`,
  };
}

async function createPage(visit: Visit, learnerId: string | null, faults: Faults = {}): Promise<Answer> {
  const { app, base } = visit;
  const f = fieldsOf(visit, faults);
  const back = learnerId === null ? base + path : `${base}/learners/${learnerId}`;
  return {
    title: learnerId === null ? 'Hold the whole organisation' : 'Hold this learner’s data',
    back: { to: back, label: learnerId === null ? 'Legal holds' : 'The learner' },
    faults,
    main: html`<p>While it is in force, ${learnerId === null ? 'no learner can be erased, no result can be withdrawn, and retention deletes nothing' : 'this learner can’t be erased, their results can’t be withdrawn, and retention leaves them alone'}. Who placed it, when and why is kept.</p>${f.form(
      'Place the hold',
      { cancel: back },
      [
        f.text('reason', 'Reason', { hint: 'Such as the number of a claim or of an audit. Not the person’s name.' }),
        f.text('until', 'Last day (optional)', { hint: 'Empty: until somebody releases it.', type: 'date' }),
        f.once(app),
      ],
    )}`,
  };
}

export function faultOfReason(text: string): string | null {
  if (!isPlainText(text, limits.reasonChars)) return `Enter a reason of at most ${limits.reasonChars} characters.`;
  return holdsNationalInsuranceNumber(text)
    ? 'Leave out the National Insurance number: it is never stored here.'
    : null;
}

async function create(visit: Visit, learnerId: string | null): Promise<Answer> {
  const { app, base, organisationId: id, zone, userId, form: sent, change } = visit;
  const reason = sent.text('reason');
  const until = sent.text('until');
  const endsAt = until === '' ? null : lastInstantOf(until, zone);
  const isOver = until !== '' && (endsAt === null || endsAt.getTime() <= app.clock.nowMs());
  const faults = faultsIn({
    reason: faultOfReason(reason),
    until: isOver && 'Choose a day from today on, such as 2027-01-31, or none.',
  });
  const once = onceOf(visit);
  if (isFaulty(faults) || once === null) return createPage(visit, learnerId, faults);
  await change(async (work) => {
    if ((await findHold(work.tx, id, once)) !== undefined) return { result: null };
    await placeHold(work, id, { holdId: once, learnerId, reason, actor: userId, endsAt });
    return { result: null, resource: once };
  });
  return { to: `${base}${path}?did=placed` };
}

async function holdOf(visit: Visit): Promise<Hold> {
  const found = await named(visit, 'hold_id', findHold);
  if (!isInForce(found, visit.app.clock.nowMs())) throw new NoSuchPage();
  return found;
}

async function showRelease(visit: Visit): Promise<Answer> {
  const { base } = visit;
  const one = await holdOf(visit);
  return confirmPage(visit, {
    title: 'Release this hold?',
    says: [
      html`On: ${onWhom(base, one)}. ${one.reason}`,
      'What it held can be erased and withdrawn again, and retention deletes what is due at its next run.',
    ],
    button: 'Release the hold',
    cancel: base + path,
  });
}

async function release(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, change } = visit;
  const { hold_id: id } = await holdOf(visit);
  await change(async (work) => ifDone(await releaseHold(work, organisationId, id, { actor: userId }), id));
  return { to: `${base}${path}?did=released` };
}
