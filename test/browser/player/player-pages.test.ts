import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { findCurrent, findItems } from '../../../src/sittings/store.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { invited } from '../../sittings/learner.ts';
import { axeFaults, isInView, openPage, overhanging, smallTargets, starts, withoutBrowser } from '../browser.ts';
import { fillByKeyboard, pressByKeyboard } from '../keyboard.ts';

suite('the learner\u2019s pages in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning' });
  await service.app.db.query('update organisation set contact = $2 where organisation_id = $1', [
    org.id,
    '01632 960 123, Monday to Friday',
  ]);
  const addressOf = (learner: SimulatedLearner) => `${service.url}/a/${learner.token}`;
  const rowsOf = async (learner: SimulatedLearner) => findItems(service.app.db, (await learner.link()).open!);
  const rightAnswerOf = async (learner: SimulatedLearner) => {
    const current = (await findCurrent(service.app.db, (await learner.link()).open!))!;
    return rightAnswer(JSON.parse(current.rendered) as RenderedItem);
  };
  async function isSound(page: Page, what: string): Promise<void> {
    assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
    assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
    assert.deepEqual(await smallTargets(page), [], `${what}: targets`);
  }

  test('the first screen of a small phone has Start, and a practice question leads to it, by keyboard', async () => {
    const ana = await invited(service, org, { name: 'Ana-Maria Featherstonehaugh' });
    const { page } = await openPage({ width: 320, height: 568 });
    await page.goto(addressOf(ana));
    await isInView(page, 'form button[type=submit]');
    for (const subject of ['Digital skills', 'English', 'Maths']) {
      await pressByKeyboard(page, 'Try a practice question');
      await isSound(page, `practice ${subject}`);
      await pressByKeyboard(page, 'Check my answer');
      await page.locator('.error:focus').waitFor();
      await isSound(page, `practice ${subject}, nothing filled in`);
      await fillByKeyboard(page, { task_button: 'send', answer: subject === 'English' ? 'shoe' : '3' }, '');
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
      assert.equal(
        await page.locator('h1').innerText(),
        subject === 'English' ? 'Not this time' : 'Yes, that is right',
      );
      await isSound(page, `practised ${subject}`);
      assert.equal((await ana.link()).open, null);
      await ana.sits('wrong');
      await page.goto(addressOf(ana));
    }
    assert.equal(await page.getByRole('link', { name: 'Try a practice question' }).count(), 0);
    await page.goto(`${addressOf(ana)}/practice`);
    assert.match(await page.locator('h1').innerText(), /result$/);
  });

  test('a network that hangs: something is said, in view; the answer costs no request more than it must', async () => {
    const ben = await invited(service, org);
    const { page } = await openPage({ width: 320, height: 568 });
    await page.goto(addressOf(ben));
    await starts(page);
    let release: () => void = () => {};
    await page.route('**/question', async (route) => {
      if (route.request().method() === 'POST') await new Promise<void>((go) => (release = go));
      await route.continue();
    });
    const seen: string[] = [];
    page.on('request', (request) =>
      seen.push(`${request.method()} ${new URL(request.url()).pathname.split('/').at(-1)}`),
    );
    await fillByKeyboard(page, await rightAnswerOf(ben));
    await page.keyboard.press('Enter');
    await page.locator('#say', { hasText: 'Sending' }).waitFor();
    await isInView(page, '#say');
    assert.deepEqual(await axeFaults(page), []);
    await Promise.all([page.waitForEvent('load'), Promise.resolve(release())]);
    assert.match(await page.locator('h1').innerText(), /^Question 2/);
    assert.deepEqual(
      seen.filter((one) => one.endsWith('question')),
      ['POST question', 'GET question'],
    );
    // The service is being restarted behind its proxy: the answer waits, and is taken once.
    await page.unroute('**/question');
    let refused = 0;
    await page.route('**/question', (route) =>
      route.request().method() === 'POST' && refused++ === 0 ? route.fulfill({ status: 502 }) : route.continue(),
    );
    await fillByKeyboard(page, await rightAnswerOf(ben));
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    assert.match(await page.locator('h1').innerText(), /^Question 3/);
    assert.deepEqual(
      (await rowsOf(ben)).map((row) => row.outcome),
      ['right', 'right', null],
    );
  });

  test('an answer whose reply is lost is sent again, and counts once', async () => {
    const cem = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(cem));
    await starts(page);
    let lost = 0;
    await page.route('**/question', async (route) => {
      if (route.request().method() !== 'POST' || lost++ > 0) return route.continue();
      await route.fetch({ maxRedirects: 0 });
      return route.abort();
    });
    await fillByKeyboard(page, await rightAnswerOf(cem));
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    assert.match(await page.locator('h1').innerText(), /^Question 2/);
    assert.deepEqual(
      (await rowsOf(cem)).map((row) => row.outcome),
      ['right', null],
    );
  });

  test('a question that is paused is hidden everywhere: in another tab, and by the back button', async () => {
    const dan = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(dan));
    await starts(page);
    const other = await page.context().newPage();
    await other.goto(addressOf(dan));
    await Promise.all([
      page.waitForURL((url) => !url.pathname.endsWith('question')),
      page.getByRole('button', { name: 'Pause and carry on later' }).click(),
    ]);
    await other.locator('h1', { hasText: 'paused' }).waitFor();
    await page.goBack();
    await page.locator('h1', { hasText: 'paused' }).waitFor();
    assert.equal(await page.locator('#question-text').count(), 0);
  });

  test('read aloud: every page, from its heading to its buttons; it stops when it is pressed again', async () => {
    const eve = await invited(service, org, { theta: 0.5 });
    const { page } = await openPage({ width: 360 });
    await page.addInitScript(
      `globalThis.spoken = []; globalThis.cancelled = 0;
       speechSynthesis.speak = (words) => spoken.push(words); speechSynthesis.cancel = () => cancelled++;`,
    );
    const heard = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Read aloud' }).click();
      return (await page.evaluate(`spoken.splice(0).map((words) => words.text).join(' | ')`)) as string;
    };
    await page.goto(addressOf(eve));
    assert.match(await heard(), /^Hello Test Learner \| Northfield .*cannot pass or fail.* Start Digital skills \|/);
    // Its name says what it does next; at the end of the text it is itself again.
    await page.getByRole('button', { name: 'Stop reading' }).click();
    assert.match(await heard(), /^Hello/);
    await page.evaluate(`globalThis.cancelled = 0`);
    await page.getByRole('button', { name: 'Stop reading' }).click();
    assert.equal(await page.evaluate('cancelled'), 1);
    await page.getByRole('button', { name: 'Read aloud' }).click();
    await page.evaluate(`spoken.at(-1).onend()`);
    await page.getByRole('button', { name: 'Read aloud' }).waitFor();
    await starts(page);
    const shown = (await page.locator('#question-text').innerText()).split(/\s+/).slice(0, 4).join(' ');
    await page.evaluate('spoken.splice(0)');
    assert.ok((await heard()).startsWith(shown));
    while ((await eve.answers()) !== null);
    await page.goto(addressOf(eve));
    assert.match(await heard(), /^Check and send \|.*Questions answered \| \d+ .*Send my answers/);
    await eve.finishes((await eve.link()).open!);
    await page.goto(addressOf(eve));
    assert.match(await heard(), /^Your Digital skills result \|.*Save or print this result/);
  });

  test('that something is being sent is said where the page goes, not where a link opens in another tab', async () => {
    const hana = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(hana));
    const said = await page.evaluate(`(() => {
      let waits;
      globalThis.setTimeout = (...given) => void waits.push(given);
      const link = document.querySelector('.try a');
      link.onclick = (event) => event.preventDefault();
      return [{}, { ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { button: 1 }].map((how) => {
        waits = [];
        link.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...how }));
        return waits.map(([, ms, name]) => [ms, name]);
      });
    })()`);
    assert.deepEqual(said, [[[700, 'wait']], [], [], [], []]);
  });

  test('the end of the time is said once', async () => {
    const ida = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.addInitScript(
      `globalThis.steps = []; globalThis.setInterval = (step, ms) => void steps.push({ step, ms });
       globalThis.past = 0; performance.now = () => past;`,
    );
    await page.goto(addressOf(ida));
    await starts(page);
    const said = await page.evaluate(`(() => {
      const say = document.getElementById('say');
      document.getElementById('time').dataset.left = 90000;
      const [{ step }] = steps.filter(({ ms }) => ms === 5000);
      return Array.from({ length: 60 }, () => {
        past += 5000;
        say.textContent = '';
        step();
        return say.textContent;
      }).filter((text) => text !== '');
    })()`);
    assert.deepEqual(said, ['Less than 1 minute left', 'Time is up']);
  });

  test('a result to keep: on a page of its own that prints without buttons', async () => {
    const fay = await invited(service, org, { name: 'Fay Example', theta: 0.5 });
    await fay.sits();
    const { page } = await openPage({ width: 320 });
    await page.goto(addressOf(fay));
    await pressByKeyboard(page, 'Save or print this result');
    await isSound(page, 'result');
    assert.match(await page.locator('main').innerText(), /Fay Example[^]*Northfield[^]*stays at this address until/);
    await page.evaluate('globalThis.printed = 0; globalThis.print = () => { printed++ }');
    await page.getByRole('button', { name: /^Print/ }).click();
    assert.equal(await page.evaluate('printed'), 1);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    for (const hidden of ['#print', '#read', '.skip', 'form'])
      assert.equal(await page.locator(hidden).isVisible(), false, hidden);
    assert.equal(
      await page.evaluate(`getComputedStyle(document.documentElement).backgroundColor`),
      'rgb(255, 255, 255)',
    );
    assert.match(await page.locator('footer').innerText(), /01632 960 123/);
    // Whoever has the address sees the result, can ask for a person's review, and can sit nothing.
    assert.deepEqual(await page.locator('form button').allInnerTexts(), ['Ask for a person’s review']);
  });

  for (const options of [{ colorScheme: 'dark' }, { forcedColors: 'active' }] as const) {
    test(`pages around the questions, ${Object.values(options)[0]}: axe clean`, async () => {
      const gil = await invited(service, org, { theta: 0.5 });
      const { page } = await openPage({ width: 320, ...options });
      await page.goto(addressOf(gil));
      await isSound(page, 'welcome');
      await starts(page);
      await isSound(page, 'question');
      await Promise.all([
        page.waitForURL((url) => !url.pathname.endsWith('question')),
        page.getByRole('button', { name: 'Pause and carry on later' }).click(),
      ]);
      await isSound(page, 'paused');
      await Promise.all([page.waitForURL(/question$/), page.getByRole('button', { name: 'Carry on' }).click()]);
      while ((await gil.answers()) !== null);
      await page.goto(addressOf(gil));
      await isSound(page, 'check');
      await gil.finishes((await gil.link()).open!);
      await page.goto(addressOf(gil));
      await isSound(page, 'closing');
    });
  }
});
