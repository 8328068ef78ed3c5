/** What other nouns may ask of sittings. */
export {
  emptyAnswersBefore,
  emptySittingOfResult,
  emptySittingsOfLearners,
  voidSittingsOfInvitation,
  voidSittingsOfLearner,
} from './redact.ts';
export { correctSupervision, countOpenSittings, findBegun, findSitting, hasOpenSitting, moveSitting } from './store.ts';
export { lockOpenSittings, passSittings } from './reassign.ts';
export { addPausesUntilNow } from './suspension.ts';
