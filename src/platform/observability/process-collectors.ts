import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Clock } from '../time/clock.ts';
import * as metricDefinitions from './metric-definitions.ts';
import { beforeReading } from './metrics.ts';
import { build } from '../config/version.ts';

/** The event-loop delay is measured in windows of this length, however often the metrics are read. */
const windowMs = 30_000;

/**
 * Measures the event loop, memory and processor of this process.
 * @param role the value of the label `role` in `ars_build_info`
 * @returns a function that stops the measurement
 */
export function watchProcess(clock: Clock, role: string): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const setDelay = (nanoseconds: number, stat: string) => metricDefinitions.loopDelay.set(nanoseconds / 1e9, stat);
  const window = setInterval(() => {
    // The histogram records the time between two ticks, so its resolution of 20 ms is subtracted.
    const late = (one: number) => Math.max(0, one - 20e6);
    setDelay(late(delay.percentile(50)), 'median');
    setDelay(late(delay.percentile(99)), 'p99');
    setDelay(late(delay.max), 'max');
    delay.reset();
  }, windowMs);
  window.unref();
  metricDefinitions.startSeconds.set(clock.nowMs() / 1000 - process.uptime());
  metricDefinitions.buildInfo.set(1, build.version, build.commit, process.versions.node, role);
  const stop = beforeReading(() => {
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    metricDefinitions.residentBytes.set(rss);
    metricDefinitions.heapUsed.set(heapUsed);
    metricDefinitions.externalUsed.set(external);
    metricDefinitions.cpuSeconds.reached((user + system) / 1e6);
    metricDefinitions.loopActive.reached(performance.eventLoopUtilization().active / 1000);
  });
  return () => {
    stop();
    clearInterval(window);
    delay.disable();
  };
}
