import { type Content, html } from '../../../platform/html/html.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { moment } from '../kit/blocks.ts';
import type { Visit } from '../kit/route.ts';
import { readSetUp } from '../../../integrations/milestones.ts';

/** A step of a list that disappears when every step is done. `at`: when the step was done, if the time is known. */
export type Step = { what: string; how: Content; isDone: boolean; at?: Date | undefined };

export function gettingStarted(steps: readonly Step[], zone: string, title = 'Getting started'): Content {
  const done = steps.filter((one) => one.isDone).length;
  if (done === steps.length) return null;
  const items = steps.map(({ what, how, isDone, at }) => {
    if (!isDone) return html`<li><span aria-hidden="true">○</span> ${what}<p class="hint">${how}</p></li>`;
    const when = at === undefined ? 'done' : html`done, ${moment(at, zone)}`;
    return html`<li><span class="tick" aria-hidden="true">✓</span> ${what} <span class="hint">(${when})</span></li>`;
  });
  return html`<h2>${title}</h2><p>${done} of ${steps.length} done. The service ticks each step when the step is complete.</p><ol class="ticks">${items}</ol>`;
}

const step = (isDone: boolean, what: string, how: Content): Step => ({ what, how, isDone });

const link = (to: string, words: string) => html`<a href="${to}">${words}</a>`;

/** What an owner sets up first. A sandbox has the people of its organisation and needs none of it. */
export async function setUpPart({ app, base, role, organisation, organisationId, zone }: Visit): Promise<Content> {
  if (!managers.includes(role) || organisation.is_sandbox) return null;
  const is = await readSetUp(app.db, organisationId);
  const steps = [
    step(is.people, 'People are invited', html`${link(`${base}/people/invite`, 'Invite a person')}, each with a role.`),
    step(
      is.teams,
      'A team is created',
      html`${link(`${base}/teams/create`, 'Create a team')}. Tutors see the learners of their teams.`,
    ),
    step(
      is.contact,
      'Learners can contact you',
      html`${link(`${base}/settings`, 'Enter the contact for learners')}. Learner pages show it.`,
    ),
    step(
      is.retention,
      'The retention periods are set',
      html`${link(`${base}/data-protection/retention`, 'Set the retention periods')} for each kind of data.`,
    ),
    step(
      is.invited,
      'The first learners are invited',
      html`${link(`${base}/invite`, 'Invite learners')} with a table of names.`,
    ),
    step(is.key, 'A key is created', html`${link(`${base}/keys/create`, 'Create a key')} for the first platform.`),
  ];
  return gettingStarted(steps, zone);
}
