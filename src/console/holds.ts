import type { Hold } from '../holds/holds.ts';
import { findHold, listHolds, placeHold, releaseHold } from '../holds/holds.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from '../personal-data.ts';
import { managers, auditReaders } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { actorNames } from './actors.ts';
import { confirmPage, day, empty, moment, notice, readFrom, shortPager, table } from './blocks.ts';
import { learnerOf } from './erasure.ts';
import type { Faults } from './form.ts';
import { form, hiddenField, textField } from './form.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, formRoutes } from './route.ts';
import { lastInstantOf } from '../organisations/zone.ts';

/** Legal holds: who or what is kept, whoever asks for its deletion. */

const path = '/data-protection/holds';

export const holdRoutes: ConsoleRoute[] = [
  get(path, auditReaders, holds),
  ...formRoutes(
    `${path}/create`,
    managers,
    (visit) => createPage(visit, null, {}),
    (visit) => create(visit, null),
    { proof: true },
  ),
  ...formRoutes('/learners/{learner_id}/hold', managers, showHold, hold, { proof: true }),
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

  const from = readFrom(query);
  const most = limits.consoleRows;
  const nowMs = app.clock.nowMs();
  const [found, names] = await Promise.all([
    listHolds(app.db, id, { from, limit: most + 1, now: new Date(nowMs) }),
    actorNames(visit),
  ]);
  const rows = found.slice(0, most);
  return {
    title: 'Legal holds',
    back: { to: `${base}/data-protection`, label: 'Data protection' },
    main: html`${notice(query, { placed: 'The hold is in force.', released: 'The hold is released.' })}<p>Whoever is under a hold can’t be erased, their results can’t be withdrawn, and retention leaves them alone. A hold on one learner is placed from the learner’s page.</p>${managers.includes(role) ? html`<div class="actions"><a class="button" href="${base}${path}/create">Hold the whole organisation</a></div>` : null}${
      rows.length === 0
        ? empty('There is no hold.')
        : table<Hold>({
            caption: 'Those in force first',
            rows,
            columns: [
              { head: 'On', cell: (one) => onWhom(base, one) },
              { head: 'State', cell: (one) => stateOf(one, nowMs, zone) },
              { head: 'Reason', cell: (one) => one.reason },
              {
                head: 'Placed',
                cell: (one) => html`${day(one.placed_at, zone)} by ${names.get(one.placed_by) ?? one.placed_by}`,
              },
              {
                head: 'Release',
                cell: (one) =>
                  isInForce(one, nowMs) && managers.includes(role)
                    ? html`<a href="${base}${path}/${one.hold_id}/release">Release<span class="unseen"> the hold of ${day(one.placed_at, zone)}</span></a>`
                    : null,
              },
            ],
          })
    }${shortPager(base + path, query, from, found.length > most)}`,
  };
}

async function showHold(visit: Visit): Promise<Answer> {
  return createPage(visit, (await learnerOf(visit)).learner_id, {});
}

async function createPage(visit: Visit, learnerId: string | null, faults: Faults = {}): Promise<Answer> {
  const { app, base, form: sent } = visit;
  const to = learnerId === null ? `${base}${path}/create` : `${base}/learners/${learnerId}/hold`;
  const back = learnerId === null ? base + path : `${base}/learners/${learnerId}`;
  return {
    title: learnerId === null ? 'Hold the whole organisation' : 'Hold this learner’s data',
    back: { to: back, label: learnerId === null ? 'Legal holds' : 'The learner' },
    faults,
    main: html`<p>While it is in force, ${learnerId === null ? 'no learner can be erased, no result can be withdrawn, and retention deletes nothing' : 'this learner can’t be erased, their results can’t be withdrawn, and retention leaves them alone'}. Who placed it, when and why is kept.</p>${form(
      to,
      [
        textField({
          name: 'reason',
          label: 'Reason',
          hint: 'Such as the number of a claim or of an audit. Not the person’s name.',
          value: sent.text('reason'),
          width: 40,
          fault: faults.reason,
        }),
        textField({
          name: 'until',
          label: 'Last day (optional)',
          hint: 'Empty: until somebody releases it.',
          type: 'date',
          value: sent.text('until'),
          width: 20,
          fault: faults.until,
        }),
        hiddenField('once', sent.text('once') || app.random.uuid()),
      ],
      'Place the hold',
      { faults, cancel: back },
    )}`,
  };
}

async function hold(visit: Visit): Promise<Answer> {
  return create(visit, (await learnerOf(visit)).learner_id);
}

/** What is wrong with a text of one line that is kept. */
export function faultOfReason(text: string): string | null {
  if (!isPlainText(text, limits.reasonChars)) return `Enter a reason of at most ${limits.reasonChars} characters.`;
  return holdsNationalInsuranceNumber(text)
    ? 'Leave out the National Insurance number: it is never stored here.'
    : null;
}

async function create(visit: Visit, learnerId: string | null): Promise<Answer> {
  const { app, base, organisationId: id, zone, session, form: sent, change } = visit;

  const faults: Faults = {};
  const reason = sent.text('reason');
  const wrong = faultOfReason(reason);
  if (wrong !== null) faults.reason = wrong;
  const until = sent.text('until');
  const endsAt = until === '' ? null : lastInstantOf(until, zone);
  if (until !== '' && (endsAt === null || endsAt.getTime() <= app.clock.nowMs()))
    faults.until = 'Choose a day from today on, such as 2027-01-31, or none.';
  const once = sent.text('once').toLowerCase();
  if (Object.keys(faults).length > 0 || !isUuid(once)) return createPage(visit, learnerId, faults);
  await change(async (work): Promise<Acted<null>> => {
    if ((await findHold(work.tx, id, once)) !== undefined) return { result: null };
    await placeHold(work, id, { holdId: once, learnerId, reason, actor: session.user_id, endsAt });
    return { result: null, resource: once };
  });
  return { to: `${base}${path}?did=placed` };
}

/** The hold of the address, while it is in force. */
async function holdOf({ app, organisationId, params }: Visit): Promise<Hold> {
  const id = params.hold_id!.toLowerCase();
  const found = isUuid(id) ? await findHold(app.db, organisationId, id) : undefined;
  if (found === undefined || !isInForce(found, app.clock.nowMs())) throw new NoSuchPage();
  return found;
}

async function showRelease(visit: Visit): Promise<Answer> {
  const { base } = visit;
  const one = await holdOf(visit);
  return confirmPage({
    title: 'Release this hold?',
    says: [
      html`On: ${onWhom(base, one)}. ${one.reason}`,
      'What it held can be erased and withdrawn again, and retention deletes what is due at its next run.',
    ],
    action: `${base}${path}/${one.hold_id}/release`,
    button: 'Release the hold',
    cancel: base + path,
  });
}

async function release(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, change } = visit;
  const { hold_id: holdId } = await holdOf(visit);
  await change(async (work) => {
    const result = await releaseHold(work, organisationId, holdId, { actor: session.user_id });
    return result ? { result, resource: holdId } : { result };
  });
  return { to: `${base}${path}?did=released` };
}
