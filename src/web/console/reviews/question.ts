import { plainText } from '../../../engine/item-bank/markup.ts';
import type { Answer as Given } from '../../../engine/item-bank/mark.ts';
import type { Field } from '../../../engine/item-bank/render-model.ts';
import { html } from '../../../platform/html/html.ts';
import { itemHtml } from '../../player/question/item.ts';
import { reviewQuestion } from '../../../sittings/review.ts';
import type { ReviewedQuestion } from '../../../sittings/review.ts';
import { facts, table } from '../kit/blocks.ts';
import { answerWords, lookAt } from './result.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';

export const reviewQuestionRoutes: ConsoleRoute[] = [
  get('/review/{assessment_id}/questions/{position}', learnerReaders, question),
];

function valueWords(field: Field, answer: Given | null): string {
  const value = answer !== null && Object.hasOwn(answer, field.name) ? answer[field.name]! : [];
  const values = ([value].flat() as string[]).filter((one) => one !== '');
  const labels = values.map((one) => field.options.find((option) => option.value === one)?.text ?? one);
  return labels.length === 0 ? 'Nothing' : labels.join('; ');
}

const seconds = (ms: number | null): string => (ms === null ? 'Not measured' : `${Math.round(ms / 1000)} seconds`);

async function question(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, params } = visit;
  const { of } = await lookAt(visit);
  const position = /^[1-9]\d{0,2}$/.test(params.position!) ? Number(params.position) : 0;
  const found = await reviewQuestion(app, organisationId, of.assessment_id, position);
  if (found === undefined) throw new NoSuchPage();
  const here = `${base}/review/${of.assessment_id}`;
  const neighbour = (n: number, label: string) =>
    n < 1 || n > found.of ? null : html`<li><a href="${here}/questions/${n}">${label}</a></li>`;
  return {
    title: `Question ${position} of ${found.of}`,
    back: { to: here, label: 'The result' },
    main: html`<p>The question as it was shown, with what was filled in.</p>${facts({
      Answer: answerWords[found.outcome],
      'Working time': seconds(found.working_ms),
      Pauses: found.pauses === 0 ? 'None' : `${found.pauses}, ${seconds(found.paused_ms)} together`,
    })}${answers(found)}<h2>As it was shown</h2><fieldset class="shown" disabled><legend class="unseen">The question</legend>${itemHtml(found.model, found.given, null)}</fieldset><nav class="pager" aria-label="Questions"><ul>${neighbour(position - 1, 'Question before')}${neighbour(position + 1, 'Next question')}</ul></nav>`,
  };
}

function answers({ model, given, right }: ReviewedQuestion) {
  return table<Field>('What was filled in', model.fields, {
    Field: (field) => plainText(field.label),
    'Filled in': (field) => html`<bdi>${valueWords(field, given)}</bdi>`,
    'Right, for example': (field) => valueWords(field, right),
  });
}
