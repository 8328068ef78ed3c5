import assert from 'node:assert/strict';
import type { Answer } from '../../src/engine/item-bank/mark.ts';
import { mark, rightAnswer } from '../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../src/engine/item-bank/schema.ts';
import type { Random } from '../../src/platform/crypto/random.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { createInvitations, invitationToken } from '../../src/sittings/invitations/invitations.ts';
import { probability } from '../../src/engine/scoring/irt.ts';
import { answerQuestion } from '../../src/sittings/answer.ts';
import { banksOf } from '../../src/sittings/scoring/banks.ts';
import type { Finish } from '../../src/sittings/finish.ts';
import { finishSitting } from '../../src/sittings/finish.ts';
import type { Link } from '../../src/sittings/link.ts';
import { openLink } from '../../src/sittings/link.ts';
import { startSitting } from '../../src/sittings/start.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import { findCurrent, findSitting } from '../../src/sittings/store.ts';
import type { TestOrganisation, TestService } from '../support/service.ts';

/** An answer that is given and wrong, in the form that the item asks for. */
export function wrongAnswer(item: RenderedItem): Answer {
  const right = rightAnswer(item);
  const tries: Answer[] = [];
  switch (item.type) {
    case 'single_choice':
      tries.push(...item.options.map((option) => ({ answer: option.id })));
      break;
    case 'hotspot':
    case 'multiple_choice': {
      const ids =
        item.type === 'multiple_choice'
          ? item.options.map((option) => option.id)
          : item.surface.kind === 'picture'
            ? item.surface.spots.map((spot) => spot.id)
            : [...item.surface.lines.join('').matchAll(/\[\[([a-z0-9_]+)\|/g)].map((found) => found[1]!);
      ids.forEach((_, at) => tries.push({ answer: item.key.map((_key, n) => ids[(at + n) % ids.length]!) }));
      break;
    }
    case 'numeric':
      // As a time of day, the first is none.
      tries.push({ answer: '98765' }, { answer: '1' }, { answer: '2' });
      break;
    case 'short_text':
      // Where a number is asked for, a word is asked again.
      tries.push({ answer: 'zzz' }, { answer: '98765' });
      break;
    case 'ordering':
      tries.push(Object.fromEntries(item.key.map((id, at) => [`position_${id}`, String(item.key.length - at)])));
      break;
    case 'matching':
      tries.push(...item.right.map(({ id }) => Object.fromEntries(item.left.map((left) => [`match_${left.id}`, id]))));
      break;
    case 'task':
      for (const field of item.fields) {
        const options = field.control === 'text' ? ['zzz', '98765'] : field.options.map((option) => option.id);
        for (const value of options)
          tries.push({ ...right, [`task_${field.id}`]: field.control === 'checkboxes' ? [value] : value });
      }
  }
  for (const answer of tries) {
    const marked = mark(item, answer);
    if (marked.answered && !marked.correct && marked.problem === null) return answer;
  }
  throw new Error(`no wrong answer found for a ${item.type} item`);
}

/** A learner of a known ability who sits through the verbs; the answers obey the model. */
export class SimulatedLearner {
  readonly service: TestService;
  readonly token: string;
  readonly theta: number;
  readonly ref: string;
  #random: Random;

  constructor(service: TestService, token: string, ref: string, theta: number) {
    this.service = service;
    this.token = token;
    this.ref = ref;
    this.theta = theta;
    this.#random = seededRandom(`answers ${ref}`);
  }

  async link(): Promise<Link> {
    const link = await openLink(this.service.app, this.token);
    assert.ok(link !== null);
    return link;
  }

  async starts(): Promise<SittingRow> {
    await startSitting(this.service.app, await this.link());
    const { open } = await this.link();
    assert.ok(open !== null);
    return open;
  }

  /** Answers the current question; null when none is due. */
  async answers(how: 'by ability' | 'right' | 'wrong' | 'skip' = 'by ability'): Promise<string | null> {
    const { app } = this.service;
    const sitting = (await this.link()).open;
    if (sitting === null || sitting.stop !== null) return null;
    const current = (await findCurrent(app.db, sitting))!;
    const rendered = JSON.parse(current.rendered) as RenderedItem;
    const item = (await banksOf(app).version(app.db, sitting.bank_version)).bank.item(current.item_id)!;
    const right = how === 'right' || (how === 'by ability' && this.#random.float() < probability(item, this.theta));
    const { kind } = await answerQuestion(app, sitting, {
      position: current.position,
      answer: right ? rightAnswer(rendered) : wrongAnswer(rendered),
      skip: how === 'skip',
    });
    return kind;
  }

  /** Sits the next subject to its end and declares. */
  async sits(how: 'by ability' | 'right' | 'wrong' = 'by ability'): Promise<SittingRow> {
    const sitting = await this.starts();
    while ((await this.answers(how)) !== null);
    assert.equal(await this.finishes(sitting), 'completed');
    return (await findSitting(this.service.app.db, sitting))!;
  }

  finishes(sitting: SittingRow): Promise<Finish> {
    return finishSitting(this.service.app, sitting, null);
  }
}

/** A learner with an invitation from the public API. */
export async function invited(
  service: TestService,
  org: TestOrganisation,
  given: { ref?: string; name?: string; theta?: number } = {},
): Promise<SimulatedLearner & { invitationId: string }> {
  const ref = given.ref ?? `L-${service.app.random.bytes(6).toString('hex')}`;
  const { status, body, text } = await org.post('/learners', { ref, full_name: given.name ?? 'Test Learner' });
  assert.ok(status === 201 || status === 200, text);
  const token = new URL(body.data.assessment_url).pathname.slice('/a/'.length);
  return Object.assign(new SimulatedLearner(service, token, ref, given.theta ?? 0), {
    invitationId: body.data.invitation_id as string,
  });
}

/** A second invitation of the same learner, to digital, with its own link. */
export async function invitedAgain(learner: SimulatedLearner): Promise<SimulatedLearner & { invitationId: string }> {
  const { service, ref, theta } = learner;
  const { organisation_id, learner_id } = (await learner.link()).invitation;
  const [created] = await service.withUnitOfWork((work) =>
    createInvitations(work, organisation_id, [{ invitation_id: work.uuid(), learner_id, subjects: ['digital'] }], true),
  );
  const { invitation_id } = created!;
  const token = invitationToken(service.app.secrets, organisation_id, invitation_id);
  return Object.assign(new SimulatedLearner(service, token, ref, theta), { invitationId: invitation_id });
}
