import { type Tx, statement } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { limits } from '../../../platform/config/limits.ts';
import { errorFields } from '../../../platform/observability/log.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { findSandbox, requestSandbox } from '../../../organisations/sandboxes.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { integrators, managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { isFaulty, faultsIn } from '../kit/form.ts';
import { html } from '../../../platform/html/html.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { again, actionOf, mustBeSignedIn, post, get, formRoutes } from '../kit/route.ts';
import { formPage, confirmPage, refusal } from '../kit/page.ts';
import { testResultMade } from '../../../integrations/milestones.ts';
import { empty } from '../kit/table.ts';

const ask: ConsoleRoute = post('/sandbox', managers, askFor, { live: true });
const begin: ConsoleRoute = post('/sandbox/reset', managers, beginAnew, { live: true, proof: true });

export const sandboxRoutes: ConsoleRoute[] = [
  get('/sandbox', managers, showAsk, { live: true }),
  ask,
  get('/sandbox/reset', managers, showReset, { live: true, proof: true }),
  begin,
  ...formRoutes('/test-result', integrators, makePage, make),
];

const byOf = ({ userId, requestId }: Visit, route: ConsoleRoute) => ({
  actor: userId,
  action: actionOf(route),
  requestId,
});

/** Refuses the change if the session has ended, because these changes do not use `visit.change`. */
const guardOf =
  ({ session }: Visit) =>
  (work: UnitOfWork): Promise<void> =>
    mustBeSignedIn(work, session.session_id);

async function showAsk(visit: Visit): Promise<Answer> {
  const { app, base, organisationId } = visit;
  const state = await findSandbox(app.db, organisationId);
  if (state.is_one || state.public_id !== null || state.asked_at !== null) return { to: base };
  const atOnce = app.settings.sandboxes === 'at_once';
  return confirmPage(visit, {
    title: atOnce ? 'Create sandbox?' : 'Request sandbox?',
    back: { to: base },
    says: [
      'A sandbox is a separate organisation with test keys and 50 invented learners. Owners, admins and integration developers of this organisation keep their roles there.',
      atOnce ? 'It takes a few seconds.' : 'The operator creates it. The dashboard then shows it.',
    ],
    button: atOnce ? 'Create sandbox' : 'Request sandbox',
    danger: false,
  });
}

async function askFor(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, userId, change } = visit;
  if ((await findSandbox(app.db, id)).is_one) return { to: base };
  if (app.settings.sandboxes === 'at_once') {
    // The module is loaded here, because its example data is large and few processes need it.
    const { grantSandbox, NotSeeded } = await import('../../../sandbox/own.ts');
    const row = await readOrganisation(app.db, id);
    return grantSandbox(app, row, byOf(visit, ask), guardOf(visit)).then(
      (sandbox) => ({ to: `/console/${sandbox}` }),
      (error: unknown) => notSeeded(visit, error, NotSeeded),
    );
  }
  await change((work) => requestSandbox(work, id, userId), organisation.public_id);
  return { to: `${base}?did=asked` };
}

async function showReset(visit: Visit): Promise<Answer> {
  const { app, base, organisationId } = visit;
  if ((await findSandbox(app.db, organisationId)).public_id === null) return { to: base };
  return confirmPage(visit, {
    title: 'Reset sandbox?',
    back: { to: base },
    says: [
      'All learners, results, keys, webhook endpoints and logs of the sandbox are deleted. This can’t be undone. 50 new learners are created.',
      'The keys of the sandbox stop working. Create a new key afterwards. This organisation does not change.',
    ],
    button: 'Reset sandbox',
  });
}

async function beginAnew(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  if ((await findSandbox(app.db, id)).organisation_id === null) return { to: base };
  const { resetOwnSandbox, NotSeeded } = await import('../../../sandbox/own.ts');
  const row = await readOrganisation(app.db, id);
  return resetOwnSandbox(app, row, byOf(visit, begin), guardOf(visit)).then(
    (sandbox) => ({ to: `/console/${sandbox}?did=reset` }),
    (error: unknown) => notSeeded(visit, error, NotSeeded),
  );
}

/** The sandbox exists without all example data, so the general error page would wrongly say that nothing changed. */
function notSeeded({ app, base, requestId }: Visit, error: unknown, NotSeeded: new () => Error): Answer {
  if (!(error instanceof NotSeeded)) throw error;
  app.log.error('sandbox.not_seeded', { request_id: requestId, ...errorFields(error.cause) });
  const text = 'Some of its learners could not be created. Reset the sandbox in a minute.';
  return refusal('The sandbox is incomplete', text, { to: `${base}/sandbox/reset`, label: 'Reset sandbox' }, 503);
}

const newest = statement('test_result.learners')`
  select learner_id, ref from learner where organisation_id = $1 and ref is not null
   order by created_at desc, ref limit ${limits.consoleRows}`;

const testLearners = (tx: Tx, organisationId: number) =>
  tx.query<{ learner_id: string; ref: string }>(newest, [organisationId]);

const subjectChoices = subjects.map((value) => ({ value, label: value }));

async function makePage(visit: Visit): Promise<Answer> {
  const { app, base, organisationId } = visit;
  if (!(await findSandbox(app.db, organisationId)).is_one) return { to: base };
  const learners = await testLearners(app.db, organisationId);
  const choices = learners.map((one) => ({ value: one.learner_id, label: one.ref }));
  const head = { title: 'Create test result', back: { to: base, label: 'Dashboard' } };
  if (learners.length === 0) return { ...head, main: empty('No test learner has a reference. Reset the sandbox.') };
  return formPage(visit, {
    ...head,
    intro: html`<p>The result appears as if the learner had just finished. The feed returns it, and webhook endpoints receive an event.</p>`,
    button: 'Create test result',
    fields: (f) => [
      f.select('learner', 'Test learner', choices, {
        hint: `The ${limits.consoleRows} newest, by reference.`,
      }),
      f.choose('subject', 'Subject', subjectChoices, { initial: 'maths' }),
    ],
  });
}

async function make(visit: Visit) {
  const { app, base, organisation, organisationId, userId, form: sent, change } = visit;
  if (!(await findSandbox(app.db, organisationId)).is_one) return { to: base };
  const learnerId = sent.raw('learner');
  const subject = subjects.find((one) => one === sent.raw('subject'));
  const faults = faultsIn({
    learner: !isUuid(learnerId) && 'Choose a learner.',
    subject: subject === undefined && 'Choose a subject.',
  });
  if (subject === undefined || isFaulty(faults)) return again(faults);
  const { makeTestResult } = await import('../../../sandbox/own.ts');
  const made = await change(
    async (work) => {
      const id = await makeTestResult(work, organisation, { learnerId, subject, actor: userId });
      if (id !== null) await testResultMade(work, organisationId);
      return id;
    },
    (id) => id,
  );
  return made === null ? again({ learner: 'Choose a learner.' }) : { to: `${base}?did=made` };
}
