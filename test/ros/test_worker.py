# Copyright 2026 The lingbot_ros developers
# SPDX-License-Identifier: Apache-2.0
import threading

from lingbot_ros.ros.worker import Mailbox, Worker
from ros_harness import PATIENCE_S


def test_newest_wins():
    box = Mailbox()
    assert [box.put(item) for item in (1, 2, 3)] == [False, True, True]
    assert box.take() == 3
    assert not box.put(4)


def test_close_wakes_and_refuses():
    box = Mailbox()
    taken = []
    thread = threading.Thread(target=lambda: taken.append(box.take()))
    thread.start()
    box.close()
    thread.join(PATIENCE_S)
    assert taken == [None]
    assert box.put(1)
    assert box.take() is None


class Log:
    """A worker whose steps are released one by one."""

    def __init__(self, prepare=lambda: None):
        self.seen, self.errors, self.refused = [], [], []
        self.entered, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.worker = Worker(prepare, self.process, self.refused.append, self.errors.append)

    def process(self, item):
        self.seen.append(item)
        self.entered.release()
        assert self.go.acquire(timeout=PATIENCE_S)
        if item == 'bad':
            raise ValueError(item)


def test_items_that_come_while_busy_are_dropped_but_the_newest():
    log = Log()
    log.worker.start()
    assert not log.worker.put(0)
    assert log.entered.acquire(timeout=PATIENCE_S)
    assert [log.worker.put(item) for item in (1, 2, 3)] == [False, True, True]
    log.go.release()
    assert log.entered.acquire(timeout=PATIENCE_S)
    log.go.release()
    assert log.worker.stop(PATIENCE_S)
    assert log.seen == [0, 3]


def test_an_error_does_not_end_the_loop():
    log = Log()
    log.worker.start()
    for item in ('bad', 'good'):
        log.worker.put(item)
        assert log.entered.acquire(timeout=PATIENCE_S)
        log.go.release()
    assert log.worker.stop(PATIENCE_S)
    assert log.seen == ['bad', 'good'] and [str(error) for error in log.errors] == ['bad']


def test_failed_preparation_refuses_and_ends():
    def prepare():
        raise ValueError('no weights')
    log = Log(prepare)
    log.worker.start()
    assert log.worker.stop(PATIENCE_S)
    assert [str(error) for error in log.refused] == ['no weights'] and not log.seen


def test_stop_does_not_wait_for_ever():
    log = Log()
    log.worker.start()
    log.worker.put('bad')
    assert log.entered.acquire(timeout=PATIENCE_S)
    assert not log.worker.stop(0.05)
    assert log.worker.stopping
    log.go.release()
    assert log.worker.stop(PATIENCE_S)
    assert not log.errors  # what fails after the end is nobody's business
