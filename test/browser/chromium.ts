import { access } from 'node:fs/promises';

/** Where a run passes the address of its Chromium to the tests' processes. */
export const browserVariable = 'ARS_TEST_BROWSER_URL';

/** Without a window's parts it takes a quarter less of the processor. */
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Where Chromium is on this machine; null where it isn't. */
export async function findChromium(): Promise<string | null> {
  for (const path of process.env.ARS_TEST_CHROMIUM === undefined ? places : [process.env.ARS_TEST_CHROMIUM]) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

/** A browser under test talks to the service and to nobody else. */
const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Chromium's own sandbox doesn't work for root, who runs tests in containers. */
export const browserArguments = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...quiet];
