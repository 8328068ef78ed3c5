import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { password, personOf } from '../web/console/visitor.ts';
import { withService } from '../support/service.ts';
import { axeFaults, openPage, withoutBrowser } from './browser.ts';

suite('forms in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation();

  test('faults get the focus and start the title; a session that ends loses no entry', async () => {
    const person = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const { page } = await openPage({ width: 390, script: true });
    const [cookie, value] = person.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console/${org.publicId}/search`);
    assert.match(await page.title(), /^Search – /);
    await page.getByRole('main').getByRole('button', { name: 'Search' }).click();
    await page.getByRole('alert').waitFor();
    assert.match(await page.title(), /^Error: Search – /);
    const hasFocus = () => page.getByRole('alert').evaluate((one) => one === one.ownerDocument.activeElement);
    assert.ok(await hasFocus());
    await service.app.db.query(
      `update user_session set last_seen_at = last_seen_at - interval '3 hours' where user_id = $1`,
      [person.userId],
    );
    await page.getByRole('main').getByLabel('Name, reference or ID').fill('zoë of the morning');
    await page.getByRole('main').getByRole('button', { name: 'Search' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.deepEqual(await axeFaults(page), []);
    await page.getByLabel('Email address').fill(person.email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('nothing was sent').waitFor();
    const field = page.getByRole('main').getByLabel('Name, reference or ID');
    assert.equal(await field.inputValue(), 'zoë of the morning');
    assert.deepEqual(await axeFaults(page), []);
    await page.context().close();
  });
});
