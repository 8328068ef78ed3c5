import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { type SandboxState, findSandbox } from '../../../organisations/sandboxes.ts';
import {
  integrators,
  inviters,
  learnerReaders,
  roleMeanings,
  roleNames,
  roles,
} from '../../../organisations/users/roles.ts';
import { facts, moment, notice, code } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { chartsPart } from './charts.ts';
import { todayPart } from './dashboard.ts';
import { scheduleLink } from '../results/scheduled-reports.ts';
import { gettingStarted, setUpPart } from './getting-started.ts';
import { type Answer, type ConsoleRoute, type PersonVisit, type Visit, get } from '../kit/route.ts';
import { type Milestone, keepMilestones, findMilestones } from '../../../integrations/milestones.ts';
import { empty } from '../kit/table.ts';

export const homeRoutes: ConsoleRoute[] = [
  get('', roles, start, { menu: 'Dashboard' }),
  get('/console', 'person', entrance),
  get('/console/organisations', 'person', organisations),
];

/** Redirects a person with one organisation to its page, which also links to its sandbox. */
async function entrance(visit: PersonVisit): Promise<Answer> {
  const live = visit.session.memberships.filter((one) => !one.is_sandbox);
  return live.length === 1 ? { to: `/console/${live[0]!.public_id}` } : organisations(visit);
}

async function organisations({ session: { memberships } }: PersonVisit): Promise<Answer> {
  const none = 'You belong to no organisation. Ask an owner of your organisation for an invitation.';
  const items = memberships.map(
    (one) =>
      html`<li><a href="/console/${one.public_id}">${name(one.name)}</a> <span class="hint">${roleNames[one.role]}</span></li>`,
  );
  return {
    title: 'Your organisations',
    main: items.length > 0 ? html`<ul class="choices">${items}</ul>` : empty(none),
  };
}

const steps: { kind: Milestone; what: string; how(base: string): Content; inSandboxes?: true }[] = [
  {
    kind: 'key',
    what: 'A key is created',
    how: (base) => html`<a href="${base}/keys">Create a key</a> for each platform. The platform signs in with it.`,
  },
  {
    kind: 'request',
    what: 'The first request has arrived',
    how: () => html`<a href="/docs/reference.html#health">GET /health</a> is the shortest request.`,
  },
  {
    kind: 'walk',
    what: 'A full sync has read every page of the feed',
    how: () => html`Follow <code>pagination.next</code> until it is null.`,
  },
  {
    kind: 'not_modified',
    what: 'The first 304 response: nothing has changed',
    how: () => html`Send the <code>ETag</code> of the first page in <code>If-None-Match</code>.`,
  },
  {
    kind: 'webhook',
    what: 'A webhook endpoint has returned 2xx for an event',
    how: (base) => html`<a href="${base}/webhooks">Register a webhook endpoint</a>, and send a test event.`,
  },
  {
    kind: 'received',
    what: 'A platform has received a test result',
    how: (base) => html`<a href="${base}/test-result">Create a test result</a>, and check that the platform gets it.`,
    inSandboxes: true,
  },
];

async function start(visit: Visit): Promise<Answer> {
  const { app, base, organisation, role, organisationId, query } = visit;
  const findState = integrators.includes(role) ? findSandbox(app.db, organisationId) : null;
  const parts = [todayPart(visit), chartsPart(visit), findState, setUpPart(visit)] as const;
  const [needs, charts, sandbox, setUp] = await Promise.all(parts);
  return {
    title: 'Dashboard',
    says: 'Work that needs attention today, with a link to each page.',
    actions: [
      scheduleLink(visit, 'dashboard'),
      learnerReaders.includes(role) && html`<a href="${base}/results/export">Export results</a>`,
      inviters.includes(role) && html`<a class="button" href="${base}/invite/one">Invite one learner</a>`,
    ],
    main: [
      notice(query, {
        asked: 'The sandbox is requested. When the operator has created it, this page shows a link.',
        reset: 'The sandbox is reset. Create a key for it.',
        made: 'The test result is created. The next poll returns it, and webhook endpoints get an event.',
      }),
      needs,
      charts,
      sandbox && [setUp, await integrationPart(visit, sandbox.is_one), sandboxPart(visit, sandbox)],
      html`<h2>Your access</h2>`,
      facts({
        'Your role': roleNames[role],
        'Your access': roleMeanings[role],
        'Organisation ID': code(organisation.public_id),
      }),
    ],
  };
}

/** What a developer connects. In a sandbox, owners and admins have this list too. */
async function integrationPart({ app, base, role, organisationId, zone }: Visit, isSandbox: boolean): Promise<Content> {
  if (role !== 'developer' && !isSandbox) return null;
  const { reached, isNew } = await findMilestones(app.db, organisationId);
  if (isNew.length > 0) await withUnitOfWork(app, null, (work) => keepMilestones(work, organisationId, reached, isNew));
  const shown = steps.filter((step) => step.inSandboxes !== true || isSandbox);
  const done = ({ kind, what, how }: (typeof steps)[number]) => ({
    what,
    how: how(base),
    isDone: kind in reached,
    at: reached[kind],
  });
  // In a sandbox, owners and admins see this list below their own.
  return gettingStarted(shown.map(done), zone, role === 'developer' ? undefined : 'Connect a platform');
}

function sandboxPart({ base, role, zone, app }: Visit, sandbox: SandboxState): Content {
  if (sandbox.is_one)
    return html`<h2>Test data</h2><p>All data in this sandbox is invented. <a href="${base}/test-result">Create test result</a></p>`;
  const mayAsk = role !== 'developer';
  if (sandbox.public_id !== null)
    return html`<h2>Sandbox</h2><p><a href="/console/${sandbox.public_id}">Open sandbox</a>: a separate organisation with test data. People keep their roles there.${mayAsk ? html` <a href="${base}/sandbox/reset">Reset sandbox</a>` : null}</p>`;
  if (sandbox.asked_at !== null) return html`<h2>Sandbox</h2><p>Requested on ${moment(sandbox.asked_at, zone)}.</p>`;
  if (!mayAsk) return null;
  return html`<h2>Sandbox</h2><p>A sandbox is a separate organisation with test keys and invented learners. Connect a platform to the sandbox to test without real results.</p><div class="actions"><a class="button" href="${base}/sandbox">${app.settings.sandboxes === 'at_once' ? 'Create sandbox' : 'Request sandbox'}</a></div>`;
}
