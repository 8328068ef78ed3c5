import { execFile } from 'node:child_process';

/**
 * Tells systemd regularly that the event loop of this process runs, if the unit has WatchdogSec=. Node cannot open
 * datagram sockets of Unix, so the program systemd-notify sends the message.
 */
export function startWatchdog({ NOTIFY_SOCKET, WATCHDOG_PID, WATCHDOG_USEC, PATH }: NodeJS.ProcessEnv): () => void {
  // The processes of --processes inherit the variables, but only the first process answers for the unit.
  if (NOTIFY_SOCKET === undefined || WATCHDOG_USEC === undefined || WATCHDOG_PID !== String(process.pid))
    return () => {};
  const notify = () => execFile('systemd-notify', ['WATCHDOG=1'], { env: { NOTIFY_SOCKET, PATH } }, () => {});
  notify();
  const timer = setInterval(notify, Number(WATCHDOG_USEC) / 3000);
  return () => clearInterval(timer);
}
