import { type Found, NotPlayed, some, type Trial } from './trial.ts';
import { lacking, writtenBy } from './written.ts';

const lookMs = 500;

/** Tests whether the consumer writes its own records again after a restore has removed them. */
export async function ownWrites(trial: Trial): Promise<Found[]> {
  const { stage } = trial;
  await stage.completes();
  await trial.settles(1);
  const written = writtenBy(stage, trial.factsBefore, await trial.readFacts());
  if (written.made.length + written.ended.length === 0)
    throw new NotPlayed(
      'not tried, because it has written nothing: no learner with a reference, group, membership or webhook endpoint',
    );
  await stage.restoresBeginning();
  await stage.completes();
  const endMs = trial.nowMs() + trial.patienceMs;
  for (;;) {
    const lost = lacking(written, await trial.readFacts());
    if (lost.length === 0) return [];
    const isOver = trial.signal.aborted || trial.runner?.hasEnded() === true || trial.nowMs() >= endMs;
    if (isOver)
      return [
        {
          fault: 'own-writes',
          sentence: `After a restore of the service, writes of the client are still missing (${lost.length}). Send them again when X-Sync-Restored is later than your own.`,
          ids: some(lost),
        },
      ];
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
