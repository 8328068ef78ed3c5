import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withService } from '../service.ts';
import { invited } from './learner.ts';

test('three subjects, three results', async () => {
  const service = await withService();
  const org = await service.organisation();
  const ana = await invited(service, org, { name: 'Ana Example', theta: 0.4 });
  for (const subject of ['digital', 'english', 'maths']) {
    const t = performance.now();
    const sitting = await ana.sits();
    console.log(subject, performance.now() - t, JSON.parse(sitting.result!).published, JSON.parse(sitting.stop!).reason);
    const { body } = await org.get(`/assessments/${sitting.assessment_id}`);
    console.log(JSON.stringify(body.data));
  }
  console.log((await ana.link()).invitation.status);
});
