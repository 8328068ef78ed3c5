import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { findSandbox } from '../../../organisations/sandboxes.ts';
import type { SandboxState } from '../../../organisations/sandboxes.ts';
import { integrators, roleMeanings, roleNames, roles } from '../../../organisations/users/roles.ts';
import { empty, facts, moment, notice } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import type { Milestone } from './milestones.ts';
import { findMilestones, keepMilestones } from './milestones.ts';
import { todayPart } from './dashboard.ts';
import type { Answer, ConsoleRoute, PersonVisit, Visit } from '../kit/route.ts';
import { get } from '../kit/route.ts';

export const homeRoutes: ConsoleRoute[] = [
  get('', roles, start, { menu: 'Today' }),
  get('/console', 'person', entrance),
  get('/console/organisations', 'person', organisations),
];

/** A person with one organisation goes straight to it. The page of the organisation leads to its sandbox. */
async function entrance(visit: PersonVisit): Promise<Answer> {
  const live = visit.session.memberships.filter((one) => !one.is_sandbox);
  return live.length === 1 ? { to: `/console/${live[0]!.public_id}` } : organisations(visit);
}

async function organisations({ session: { memberships } }: PersonVisit): Promise<Answer> {
  return {
    title: 'Your organisations',
    main:
      memberships.length === 0
        ? empty('You belong to no organisation any more. Ask an owner of yours for an invitation.')
        : html`<ul class="choices">${memberships.map(
            (one) =>
              html`<li><a href="/console/${one.public_id}">${name(one.name)}</a> <span class="hint">${roleNames[one.role]}</span></li>`,
          )}</ul>`,
  };
}

const steps: { kind: Milestone; what: string; how(base: string): Content; inSandboxes?: true }[] = [
  {
    kind: 'key',
    what: 'A key is made',
    how: (base) =>
      html`<a href="${base}/keys">Make one</a> for each platform: it is what the platform proves itself with.`,
  },
  {
    kind: 'request',
    what: 'The first request has come',
    how: () => html`<a href="/docs/reference.html#health">GET /health</a> is the shortest one.`,
  },
  {
    kind: 'walk',
    what: 'A whole walk: every page of a list, to the last',
    how: () => html`Follow <code>pagination.next</code> until it is null.`,
  },
  {
    kind: 'not_modified',
    what: 'The first 304: a poll that costs nothing',
    how: () => html`Send the <code>ETag</code> of a first page back in <code>If-None-Match</code>.`,
  },
  {
    kind: 'webhook',
    what: 'A webhook is verified: an event was sent, and answered with 2xx',
    how: (base) => html`<a href="${base}/webhooks">Make an endpoint</a>, and send it a test event.`,
  },
  {
    kind: 'received',
    what: 'A test learner’s result is received',
    how: (base) => html`<a href="${base}/test-result">Make one happen</a>, and see it arrive.`,
    inSandboxes: true,
  },
];

async function start(visit: Visit): Promise<Answer> {
  const { app, organisation, role, organisationId, query } = visit;
  const isIntegrator = integrators.includes(role);
  const [needs, sandbox] = await Promise.all([
    todayPart(visit),
    isIntegrator ? findSandbox(app.db, organisationId) : null,
  ]);
  return {
    title: 'Start',
    heading: name(organisation.name),
    says: 'What needs somebody today, each line leading to where it is mended.',
    main: html`${notice(query, {
      asked: 'The sandbox is asked for. Whoever runs the service makes it; this page shows it then.',
      reset: 'The sandbox is new: make a key for it.',
      made: 'The result has happened. The next poll shows it, and endpoints are told now.',
    })}${needs}${sandbox === null ? null : await gettingStarted(visit, sandbox)}<h2>This organisation</h2>${facts({
      'Your role': roleNames[role],
      'What it may': roleMeanings[role],
      'Organisation id': html`<code>${organisation.public_id}</code>`,
    })}`,
  };
}

async function gettingStarted(visit: Visit, sandbox: SandboxState): Promise<Content> {
  const { app, organisationId, zone } = visit;
  const { reached, isNew } = await findMilestones(app.db, organisationId);
  if (isNew.length > 0) await withUnitOfWork(app, null, (work) => keepMilestones(work, organisationId, reached, isNew));
  const shown = steps.filter((step) => step.inSandboxes !== true || sandbox.is_one);
  const done = shown.filter(({ kind }) => reached[kind] !== undefined).length;
  return html`<h2>Getting started</h2><p>${done} of ${shown.length} done. The service ticks them as it sees them happen.</p><ol class="ticks">${shown.map(
    ({ kind, what, how }) => {
      const at = reached[kind];
      return html`<li>${
        at === undefined
          ? html`<span aria-hidden="true">○</span> ${what}<p class="hint">${how(visit.base)}</p>`
          : html`<span class="tick" aria-hidden="true">✓</span> ${what} <span class="hint">(done, ${moment(at, zone)})</span>`
      }</li>`;
    },
  )}</ol>${sandboxPart(visit, sandbox)}`;
}

function sandboxPart({ base, role, zone, app }: Visit, sandbox: SandboxState): Content {
  if (sandbox.is_one)
    return html`<h2>Test data</h2><p>Everything here is made up. <a href="${base}/test-result">Make a result of a test learner happen</a>, and see it arrive at the platform.</p>`;
  const mayAsk = role !== 'developer';
  if (sandbox.public_id !== null)
    return html`<h2>Sandbox</h2><p><a href="/console/${sandbox.public_id}">Open the sandbox</a>: an organisation of its own with test data, for the same people.${mayAsk ? html` <a href="${base}/sandbox/reset">Begin it anew</a>` : null}</p>`;
  if (sandbox.asked_at !== null) return html`<h2>Sandbox</h2><p>Asked for on ${moment(sandbox.asked_at, zone)}.</p>`;
  if (!mayAsk) return null;
  return html`<h2>Sandbox</h2><p>An organisation of its own with test keys and made-up learners, for the same people: a platform can be connected to it without touching anybody’s results.</p><div class="actions"><a class="button" href="${base}/sandbox">${app.settings.sandboxes === 'at_once' ? 'Get a sandbox' : 'Ask for a sandbox'}</a></div>`;
}
