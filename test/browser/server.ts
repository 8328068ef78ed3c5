import { chromium } from 'playwright-core';
import { browserArguments, browserVariable, findChromium } from './chromium.ts';

/** Starts one Chromium for all files of a run, on the loopback interface; null if this machine has none. */
export async function startBrowser(): Promise<{ environment: Record<string, string>; stop(): Promise<void> } | null> {
  const executablePath = await findChromium();
  if (executablePath === null) return null;
  const server = await chromium.launchServer({
    executablePath,
    args: browserArguments,
    host: '127.0.0.1',
    // The run stops its tests first.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  return { environment: { [browserVariable]: server.wsEndpoint() }, stop: () => server.close() };
}
