/** What other nouns may ask of sittings. */
export {
  emptyAnswersBefore,
  emptySittingOfResult,
  emptySittingsOfLearners,
  voidSittingsOfInvitation,
  voidSittingsOfLearner,
} from './emptying.ts';
export { correctSupervision, countOpenSittings, findBegun, findSitting, hasOpenSitting, moveSitting } from './store.ts';
export { lockOpenSittings, passSittings } from './passing.ts';
export { addPausesUntilNow } from './suspended.ts';
